import threading, queue, zlib, os

q = queue.Queue(8)
out = []


def packer():
    while True:
        b = q.get()
        if b is None:
            return
        out.append(len(zlib.compress(b, 6)))


def reader():
    seed = b"".join(b"%d line of text %d\n" % (i, i * i) for i in range(30000))
    for k in range(28):
        # inflating the stored form takes about as long as packing
        blob = zlib.compress(seed[k * 1000:], 6)
        q.put(blob + seed[k * 1000:])
    q.put(None)


a = threading.Thread(target=reader, name="reader")
b = threading.Thread(target=packer, name="packer")
a.start(); b.start(); a.join(); b.join()
print(sum(out))
