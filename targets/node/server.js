// A server on Node's http module that serves the pages of all targets.
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");

const [port, root, keepAlive] = process.argv.slice(2);
const logFile = process.env.TARGET_ACCESS_LOG;
const log = logFile ? fs.createWriteStream(logFile, { flags: "a" }) : null;

const server = http.createServer((request, response) => {
  if (keepAlive === "off") response.setHeader("Connection", "close");
  if (log) {
    response.on("finish", () => {
      const from = request.socket.remoteAddress;
      log.write(`${new Date().toISOString()} ${from} ${request.method} ${request.url} ${response.statusCode}\n`);
    });
  }
  if (request.url === "/dynamic") {
    const time = new Date().toISOString().slice(0, 19) + "+00:00";
    const page = `<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>${time}</p>\n`;
    response.writeHead(200, { "Content-Type": "text/html", "Content-Length": Buffer.byteLength(page) });
    response.end(page);
  } else if (request.url === "/echo") {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts);
      response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": body.length });
      response.end(body);
    });
  } else {
    fs.readFile(path.join(root, path.normalize("/" + request.url)), (error, body) => {
      if (error) {
        response.writeHead(404, { "Content-Length": 0 });
        response.end();
      } else {
        response.writeHead(200, { "Content-Type": "text/html", "Content-Length": body.length });
        response.end(body);
      }
    });
  }
});
server.keepAliveTimeout = 75000;
server.listen(Number(port), "127.0.0.1", 4096);
