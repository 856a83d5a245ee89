import socketserver, subprocess, sys, threading, hashlib

CLIENT = r'''
import socket, sys, time
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
f = c.makefile("rwb")
for i in range(400):
    f.write(b"doc %d\n" % i); f.flush(); f.readline(); time.sleep(0.004)
'''


class H(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            d = hashlib.sha256(line * 20000).hexdigest()
            self.wfile.write(d.encode() + b"\n")


def main():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), H) as srv:
        t = threading.Thread(target=srv.serve_forever)
        t.start()
        cs = [subprocess.Popen([sys.executable, "-c", CLIENT, str(srv.server_address[1])]) for _ in range(2)]
        for c in cs:
            c.wait()
        srv.shutdown()
        t.join()
    print("served")


main()
