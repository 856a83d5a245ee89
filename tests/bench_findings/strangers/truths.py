"""What is wrong in each program. 'line' and 'also' are texts that occur on exactly one line (or pairs: text, which line)."""

TRUTHS = {
    "order_dedupe": dict(
        kind="quadratic-membership",
        cause="merge() tests every order against a growing list, which scans the list each time "
              "(quadratic); a set makes the test constant.",
        line="if key in seen:", also=["seen = []"],
        words=["quadratic", "list", "membership", "linear search", "scan", "set "]),
    "log_redact": dict(
        kind="regex-recompile",
        cause="redact() compiles a new regular expression for every line.",
        line="pattern = re.compile(", also=["return pattern.sub"],
        words=["re.compile", "compil", "regex", "regular expression", "pattern"]),
    "sensor_ingest": dict(
        kind="commit-per-row",
        cause="Store.add() commits after every row, and each commit waits for fsync.",
        line=("self.db.commit()", 2), words=["commit", "fsync", "fdatasync", "sync to disk", "transaction"]),
    "geo_enrich": dict(
        kind="blocking-in-asyncio",
        cause="The coroutine enrich() calls a blocking HTTP client, so the event loop stands "
              "still for each of the 40 lookups and they run one after the other.",
        line='record["country"] = country_of(', also=[
            "connection.request(", "answer = connection.getresponse()"],
        words=["event loop", "asyncio", "coroutine", "blocking call", "blocks the loop"]),
    "thumb_fetch": dict(
        kind="pool-too-small",
        cause="A thread pool of two workers downloads 60 files that are nothing but latency.",
        line="WORKERS = 2", also=["with ThreadPoolExecutor(", "sizes = list(pool.map",
                                  "with urllib.request.urlopen", "return len(response"],
        words=["pool", "worker", "max_workers", "more threads", "concurren"]),
    "fax_batch": dict(
        kind="imbalance",
        cause="Pool.map with four fixed chunks of sorted documents: one process gets all the "
              "long documents, the other three finish early and idle.",
        line="sent = pool.map(submit", also=["documents = sorted("],
        words=["balanc", "uneven", "chunk", "straggler", "skew", "longest worker"]),
    "feature_pool": dict(
        kind="pickle-arguments",
        cause="Every task carries the whole 11 MB table, which is pickled, sent through the pipe "
              "and unpickled for each of the 36 tasks.",
        line="jobs = ((table, column)", also=["scores = list(pool.imap", "with multiprocessing.Pool(2)"],
        words=["pickl", "serial", "argument", "transfer", "pipe", "sent to the workers"]),
    "price_cache": dict(
        kind="lock-during-io",
        cause="PriceCache.get() holds the cache's lock while it asks the catalogue over the "
              "network, so eight threads ask one after the other.",
        line="with self.lock:", also=["self.prices[article] = self.ask(article)",
                                      "return int(link.recv(100))"],
        words=["lock", "mutex", "holds"]),
    "spool_dispatch": dict(
        kind="sleep-poll",
        cause="print_all() polls the state of a job with sleeps of 250 ms, though a job takes "
              "some 20 ms.",
        line="time.sleep(0.25)", also=['while job.state != "done":'],
        words=["poll", "sleep"]),
    "kv_client": dict(
        kind="nagle-delayed-ack",
        cause="Header and body are sent in two small writes without TCP_NODELAY: Nagle's "
              "algorithm holds the body back until the delayed acknowledgement (40 ms).",
        line="self.link.sendall(body)", also=[
            "self.link.sendall(HEADER.pack", 'return struct.unpack("<I", receive',
            "part = link.recv(", "self.link = socket.create_connection"],
        words=["nagle", "tcp_nodelay", "delayed ack", "delayed-ack", "40 ms", "small write"]),
    "checksum_tree": dict(
        kind="process-per-item",
        cause="checksum() starts a sha256sum process for each of 1000 small files.",
        line="out = subprocess.run(", words=["subprocess", "starts a process", "processes", "child process", "fork", "execve", "spawn", "program"]),
    "rogue_game": dict(
        kind="deepcopy",
        cause="play() deep-copies the whole world in every turn for the rewind history.",
        line="history.append(copy.deepcopy", words=["deepcopy", "deep cop", "copying", "copy", "copies"]),
    "build_state": dict(
        kind="json-reencode",
        cause="BuildState.done() encodes and writes the whole state as JSON after every unit "
              "(quadratic).",
        line="text = json.dumps(", also=["self.save()", "f.write(text)", "state.done(name"],
        words=["json", "encod", "serializ", "serialis", "rewrit", "dumps"]),
    "hexdump": dict(
        kind="byte-writes",
        cause="put() makes one write system call for every byte.",
        line="if (write(fd, &c, 1)", also=[
            "put(fd, digits[data[i] >> 4])", "put(fd, digits[data[i] & 15])", "put(fd, i % 32"],
        words=["write", "system call", "syscall", "buffer"]),
    "feed_relay": dict(
        kind="queue-too-small",
        cause="A queue of maxsize 1 between the reader and the poster: the reader cannot fetch "
              "the next page while the items of this one wait, so the two stages alternate.",
        line="items = queue.Queue(maxsize=1)", also=["items.put(page * 10 + i)",
                                                     "while (item := items.get())"],
        words=["queue", "maxsize", "back-pressure", "backpressure", "full"]),
    "service_status": dict(
        kind="serial-network",
        cause="collect() asks 24 independent services one after the other and waits 110 ms for "
              "each.",
        line="table.append(health(", also=["with urllib.request.urlopen", "return json.load(",
                                           "for service in SERVICES:"],
        words=["one after the other", "sequential", "serial", "concurren", "at the same time",
               "in parallel", "overlap", "one at a time"]),
    "blob_trainer": dict(
        kind="dataloader-main-thread",
        cause="The DataLoader has num_workers=0: samples are fetched with 7 ms each in the "
              "training thread.",
        line="num_workers=0", also=["for x, y in loader:", "time.sleep(0.007)",
                                    "x = self.store.get(index)"],
        words=["dataloader", "num_workers", "loader", "input", "data loading"]),
    "tagger": dict(
        kind="dense-embedding-gradient",
        cause="The EmbeddingBag with 600000 rows has dense gradients: each step zeroes and "
              "updates all rows though a batch touches 1280 (sparse=True).",
        line='nn.EmbeddingBag(', also=["loss.backward()", "optimizer.step()"],
        words=["embedding", "sparse", "dense"]),
    "confusion": dict(
        kind="element-loop",
        cause="The confusion matrix is counted in a Python loop with tensor indexing for every "
              "sample, instead of one bincount.",
        line="matrix[truth[i], predicted[i]] += 1", also=["for i in range(len(truth))"],
        words=["loop", "element", "index", "vectori", "per sample", "scalar", "small operat",
               "tiny operat"]),
    "column_blur": dict(
        kind="cache-stride",
        cause="column_sums() walks down the columns of a row-major image, so that every access "
              "is a new cache line and page; swap the loops.",
        line="sums[x] += image[", also=["for (int y = 0; y < HEIGHT", "sums[x] = 0;",
                                        "for (int x = 0; x < WIDTH; x++) {"],
        words=["cache", "stride", "memory access", "tlb", "row-major", "locality", "memory-bound",
               "memory bound"]),
    "particle_grid": dict(
        kind="allocation-churn",
        cause="frame() callocs a table of 64 MB per frame and frees it: every frame takes the "
              "page faults and the zeroing of 20000 pages again.",
        line="uint32_t *count = calloc(", also=["pairs += count[cell_of(p)]++", "free(count);"],
        words=["page fault", "fault", "alloc", "calloc", "mmap", "munmap"]),
    "match_engine": dict(
        kind="logging-flood",
        cause="A debug log line is formatted and flushed to a file for each of 140000 orders.",
        line="log.debug(", also=["log.setLevel(logging.DEBUG)"],
        words=["log", "logs", "logging", "logger", "log line", "log record"]),
    "ticket_desk": dict(
        kind="notify-herd",
        cause="arrive() wakes all 120 clerks with notify_all() for a ticket that one of them can "
              "take; the others contend for the lock and wait again.",
        line="self.changed.notify_all()", also=["self.changed.wait()"],
        words=["notify_all", "herd", "wakes all", "woken", "wake-up", "wakeup", "wake up", "wakes"]),
    "ledger_client": dict(
        kind="connect-per-request",
        cause="book_all() opens a connection and logs in (25 ms) for every entry instead of "
              "keeping one session.",
        line="session = Session(port)", also=[
            "self.link = socket.create_connection", "        self.stream.readline()"],
        words=["connect", "login", "session", "keep-alive", "reuse"]),
    "currency_etl": dict(
        kind="reload-file",
        cause="to_euro() opens and parses the whole file of rates for every payment.",
        line="return round(cents * self.rates()", also=["with open(self.path, newline",
                                                        "return {(int(day), currency)"],
        words=["again", "re-read", "reread", "same file", "repeated", "parse", "cache", "opened"]),
    "phone_book": dict(
        kind="missing-index",
        cause="caller() looks up a number without an index: sqlite scans 60000 rows for every "
              "request.",
        line="row = db.execute(", words=["index", "full scan", "table scan", "scans", "query"]),
    "invoice_rates": dict(
        kind="lock-during-io",
        cause="Rates.get() holds one lock for the whole cache while it asks the remote rate service (16 ms), "
              "so that eight workers queue for one request at a time.",
        line="with self.lock:", also=["rate = self.ask(code)"],
        words=["lock", "mutex", "holds"]),
    "payment_match": dict(
        kind="missing-index",
        cause="find_open() looks up a payment by its reference without an index: sqlite scans 24000 rows for "
              "every line of the statement.",
        line="return connection.execute(", also=[
            '"SELECT p.id, p.cents', '"JOIN customer c ON', '"WHERE p.reference = ?', "CREATE TABLE payment (",
            ("    id INTEGER PRIMARY KEY,", 1), "    customer_id INTEGER", "    reference TEXT", "    cents INTEGER",
            "    state TEXT", (");\n", 2), "CREATE TABLE booking (", "    payment_id INTEGER", "    difference INTEGER",
            (");\n", 3), "CREATE INDEX payment_customer"],
        words=["index", "full scan", "table scan", "scans", "query", "queries"]),
    "depot_assign": dict(
        kind="pickle-arguments",
        cause="The function handed to the pool is a partial bound to the whole gazetteer, which is pickled, sent "
              "and unpickled for each of the 50 tasks (chunksize 1).",
        line="return pool.map(work", also=["work = functools.partial("],
        words=["pickl", "serial", "argument", "transfer", "pipe", "copying objects"]),
    "meter_link": dict(
        kind="nagle-delayed-ack",
        cause="Header and body are sent with two sendall() before the answer is read: Nagle's algorithm holds the "
              "body back until the delayed acknowledgement, 40 ms per message.",
        line="self.sock.sendall(body)", also=["self.sock.sendall(HEADER.pack("],
        words=["nagle", "tcp_nodelay", "delayed ack", "delayed-ack", "40 ms", "two small sends"]),
    "stock_enrich": dict(
        kind="serial-await",
        cause="enrich_all() awaits one order after the other, although eight connections are open; gather would "
              "use them all.",
        line="enriched.append(await enrich(", also=["    for order in orders:"],
        words=["one after", "one reply at a time", "serial", "sequential", "concurren", "gather", "at the same time"]),
    "notify_layouts": dict(
        kind="cache-too-small",
        cause="lru_cache(maxsize=128) where 150 layouts are used in a cycle: there is never a hit.",
        line="@functools.lru_cache(maxsize=128)", also=["def layout(name):", "for part in layout(name):"],
        words=["cache", "maxsize", "misses"]),
    "book_feed": dict(
        kind="copied-rest",
        cause="The rest of the buffer (4.5 MB at first) is copied for each message, which is quadratic.",
        line="self.data = self.data[end:]",
        words=["copy", "copies", "quadratic", "at the front", "moves all", "memoryview"]),
    "document_stages": dict(
        kind="sleep-poll",
        cause="Each of the three stages polls its inbox with get_nowait() and sleeps of 10 ms instead of a get() "
              "that blocks.",
        line="time.sleep(0.01)", also=["item = self.inbox.get_nowait()", "except queue.Empty:",
                                       "if self.finished.is_set():", ("return", 1), "continue"],
        words=["poll", "get() that blocks", "blocking get", "asks whether"]),
    "access_log": dict(
        kind="byte-reads",
        cause="The file is opened with buffering=0 and read line by line: one read system call per byte.",
        line="for line in self.file:", also=["self.file = open(path, \"rb\", buffering=0)"],
        words=["few bytes", "system call", "syscall", "buffer", "unbuffered"]),
}

# Programs that lose their time by waiting: a busy machine doesn't stretch what the cure gains,
# so that the gain is compared in seconds. The others compute: there the share is compared.
WAITS = {"sensor_ingest", "geo_enrich", "thumb_fetch", "fax_batch", "price_cache", "spool_dispatch",
         "kv_client", "feed_relay", "service_status", "blob_trainer", "ledger_client",
         "invoice_rates", "meter_link", "stock_enrich", "document_stages"}
