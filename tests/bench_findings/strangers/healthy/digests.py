import hashlib, zlib, random


def main():
    rnd = random.Random(5)
    crc = 0
    for k in range(28):
        data = rnd.randbytes(6_000_000)
        h = hashlib.sha256(data).digest()
        crc = zlib.crc32(data, crc)
        s = sorted(data[:1_000_000])
    print(h.hex()[:8], crc, s[0])


main()
