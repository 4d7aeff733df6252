"""One pilot, one vehicle: levels of autonomy per axis, and the laws that hold what is not driven by hand."""
