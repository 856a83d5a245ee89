import socket, subprocess, sys, json
from concurrent.futures import ThreadPoolExecutor

SERVER = r'''
import socket, threading, time, json
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(64)
print(s.getsockname()[1], flush=True)
def serve(c):
    while True:
        d = c.recv(64)
        if not d: return
        time.sleep(0.02); c.sendall(json.dumps({"sku": d.decode(), "price": 3}).encode())
while True:
    c, _ = s.accept(); threading.Thread(target=serve, args=(c,), daemon=True).start()
'''


def ask(port, sku):
    c = socket.create_connection(("127.0.0.1", port))
    c.sendall(sku.encode())
    reply = c.recv(4096)
    c.close()
    return json.loads(reply)["price"]


def basket_total(port, skus):
    with ThreadPoolExecutor(16) as ex:
        return sum(ex.map(lambda s: ask(port, s), skus))


def main():
    p = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    port = int(p.stdout.readline())
    print(basket_total(port, [f"sku{i}" for i in range(100)]))
    p.kill()
    p.wait()


main()
