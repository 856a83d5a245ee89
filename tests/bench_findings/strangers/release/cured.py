import subprocess, hashlib, os, tempfile


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def main():
    with tempfile.TemporaryDirectory() as d:
        manifest = {}
        for i in range(N):
            p = os.path.join(d, f"part{i}")
            with open(p, "wb") as f:
                f.write(b"%d" % i * 200)
            manifest[p] = digest(p)
        print(len(manifest))


N = 700
main()
