import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.accesslog.AccessLogHandler;
import io.undertow.server.handlers.accesslog.AccessLogReceiver;
import io.undertow.server.handlers.accesslog.DefaultAccessLogReceiver;
import io.undertow.server.handlers.resource.PathResourceManager;
import io.undertow.server.handlers.resource.ResourceHandler;
import io.undertow.util.Headers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.xnio.Options;

/** A server on Undertow that serves the pages of all targets. */
public final class Main {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss'+00:00'");

    public static void main(String[] arguments) throws IOException {
        HttpHandler pages = pages(arguments[1], arguments[4].equals("on"));
        String log = System.getenv("TARGET_ACCESS_LOG");
        Undertow.builder()
                .addHttpListener(Integer.parseInt(arguments[0]), "127.0.0.1")
                .setIoThreads(Integer.parseInt(arguments[2]))
                .setWorkerThreads(Integer.parseInt(arguments[3]))
                .setSocketOption(Options.BACKLOG, 4096)
                .setServerOption(UndertowOptions.NO_REQUEST_TIMEOUT, 75_000)
                .setHandler(log == null || log.isEmpty() ? pages : logged(pages, Path.of(log)))
                .build()
                .start();
    }

    private static HttpHandler pages(String root, boolean keepAlive) {
        ResourceHandler files = new ResourceHandler(new PathResourceManager(Path.of(root)));
        return exchange -> {
            if (!keepAlive) {
                exchange.setPersistent(false);
            }
            switch (exchange.getRequestPath()) {
                case "/dynamic" -> page(exchange);
                case "/echo" -> exchange.getRequestReceiver().receiveFullBytes(Main::echo);
                default -> files.handleRequest(exchange);
            }
        };
    }

    /** The file is written by a thread of its own. */
    private static HttpHandler logged(HttpHandler next, Path folder) throws IOException {
        ExecutorService writer = Executors.newSingleThreadExecutor(work -> {
            Thread thread = new Thread(work, "access-log");
            thread.setDaemon(true);
            return thread;
        });
        AccessLogReceiver receiver = new DefaultAccessLogReceiver(writer, folder, "access.", "log");
        return new AccessLogHandler(next, receiver, "common", Main.class.getClassLoader());
    }

    private static void page(HttpServerExchange exchange) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/html");
        exchange.getResponseSender().send("<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>"
                + TIME.format(LocalDateTime.now(ZoneOffset.UTC)) + "</p>\n");
    }

    private static void echo(HttpServerExchange exchange, byte[] body) {
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/octet-stream");
        exchange.getResponseSender().send(ByteBuffer.wrap(body));
    }
}
