"""Reading exports of NVIDIA Nsight Systems: tables in a file, then one module per subject."""
