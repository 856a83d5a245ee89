"""Write a manifest with the checksum of every file in a source tree."""
import hashlib
import os
import shutil
import subprocess
import tempfile


def make_tree(root, count):
    for i in range(count):
        folder = os.path.join(root, f"pkg{i % 20}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"mod{i}.txt"), "w") as f:
            f.write(f"module {i}\n" * (20 + i % 50))


def checksum(path):
    out = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True)
    return out.stdout.split()[0]


def main():
    root = tempfile.mkdtemp()
    make_tree(root, 1000)
    manifest = []
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            manifest.append(f"{checksum(os.path.join(folder, name))}  {name}")
    print(len(manifest), hashlib.sha256("\n".join(manifest).encode()).hexdigest()[:16])
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
