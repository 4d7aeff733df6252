"""Launch files, configuration, worlds and models of Shoal, installed as shared files."""
