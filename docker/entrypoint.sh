#!/bin/bash
# Opens ROS 2 and, where it was built, this workspace, then runs what was asked for.
set -e
source /opt/ros/jazzy/setup.bash
for workspace in /opt/shoal/install /workspace/install; do
    if [ -f "$workspace/setup.bash" ]; then
        source "$workspace/setup.bash"
    fi
done
exec "$@"
