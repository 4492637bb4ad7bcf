import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.resource.PathResourceManager;
import io.undertow.server.handlers.resource.ResourceHandler;
import io.undertow.util.Headers;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.xnio.Options;

/** A server on Undertow that serves the pages of all targets. */
public final class Main {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss'+00:00'");

    public static void main(String[] arguments) {
        ResourceHandler files = new ResourceHandler(new PathResourceManager(Path.of(arguments[1])));
        boolean keepAlive = arguments[4].equals("on");
        Undertow.builder()
                .addHttpListener(Integer.parseInt(arguments[0]), "127.0.0.1")
                .setIoThreads(Integer.parseInt(arguments[2]))
                .setWorkerThreads(Integer.parseInt(arguments[3]))
                .setSocketOption(Options.BACKLOG, 4096)
                .setServerOption(UndertowOptions.NO_REQUEST_TIMEOUT, 75_000)
                .setHandler(exchange -> {
                    if (!keepAlive) {
                        exchange.setPersistent(false);
                    }
                    switch (exchange.getRequestPath()) {
                        case "/dynamic" -> page(exchange);
                        case "/echo" -> exchange.getRequestReceiver().receiveFullBytes(Main::echo);
                        default -> files.handleRequest(exchange);
                    }
                })
                .build()
                .start();
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
