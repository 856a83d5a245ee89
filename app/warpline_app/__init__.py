"""The Qt application: the window that shows captures."""
