// Node's HTTP parser, at the port of its argument: it reads each request to its end, and answers 200.
import { createServer } from "node:http";

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => response.end(`${request.method} ${request.url}\n`));
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.argv[2]), "127.0.0.1");
