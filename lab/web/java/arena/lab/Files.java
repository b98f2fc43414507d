package lab;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;

/**
 * Reads what a value names: "file WHERE FAULT" a file of the folder docs, beside which there is a private one, and
 * "fetch WHERE FAULT" an address of HTTP.
 */
final class Files {
    private static final int MOST = 100_000;

    private final File docs = new File(System.getProperty("catalina.base"), "files/docs");

    Files() throws IOException {
        write("docs/readme.txt", "Read this first.\n");
        write("docs/news.txt", "The shop opens at nine.\n");
        write("docs/page-home.html", "<p>Our home.</p>\n");
        write("private/plan.txt", "The plan that nobody may read.\n");
    }

    private void write(String name, String text) throws IOException {
        Path p = docs.getParentFile().toPath().resolve(name);
        java.nio.file.Files.createDirectories(p.getParent());
        java.nio.file.Files.writeString(p, text);
    }

    void add(Map<String, Arena.Sink> sinks) {
        sinks.put("file", this::file);
        sinks.put("fetch", this::fetch);
    }

    private void file(Ask a, String in, String[] args) throws IOException {
        try (InputStream s = open(a, in, args[0])) {
            if (s == null) throw new IOException(in + " is not there");
            String text = new String(s.readNBytes(MOST), StandardCharsets.UTF_8);
            if (args[0].equals("download")) a.send(200, "application/octet-stream", text);
            else a.html(200, "Document", "<pre>" + Ask.enc(text) + "</pre>");
        } catch (IOException | IllegalArgumentException e) {
            a.fault(args[1], "Document", "<p>This document is empty.</p>", e instanceof IOException ? e
                : new IOException("not a path"));
        }
    }

    private InputStream open(Ask a, String in, String where) throws IOException {
        switch (where) {
            case "any": return new FileInputStream(in);
            case "suffix": return new FileInputStream(new File(docs, in + ".txt"));
            case "prefix": return new FileInputStream(new File(docs, "page-" + in).toPath().normalize().toFile());
            case "begins":
                if (!in.startsWith("docs/")) throw new IOException("not a document");
                return new FileInputStream(new File(docs.getParentFile(), in));
            case "ends":
                if (!in.endsWith(".txt")) throw new IOException("not a text");
                return new FileInputStream(new File(docs, in.indexOf(0) < 0 ? in : in.substring(0, in.indexOf(0))));
            case "address": return new URL(in.startsWith("file:") ? in : "file:" + docs + "/" + in).openStream();
            case "within": return a.q.getServletContext().getResourceAsStream("/" + in);
            case "canonical":
                File f = new File(docs, in).getCanonicalFile();
                String within = docs.getCanonicalPath() + File.separator;
                if (!f.getPath().startsWith(within)) throw new IOException("not a document");
                return new FileInputStream(f);
            case "article": return new java.io.ByteArrayInputStream(("The file passwd has lines such as\n"
                + "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n").getBytes(StandardCharsets.UTF_8));
            default: return new FileInputStream(new File(docs, in));
        }
    }

    private void fetch(Ask a, String in, String[] args) throws IOException {
        try {
            String text = get(a, in, args[0]);
            switch (args[0]) {
                case "encoded" -> a.html(200, "Preview", "<pre>" + Ask.enc(text) + "</pre>");
                case "title" -> a.html(200, "Preview", "<p>Title: "
                    + Ask.enc(text.replaceAll("(?s).*<title>(.*?)</title>.*", "$1")) + "</p>");
                default -> a.html(200, "Preview", "<div>" + text + "</div>");
            }
        } catch (IOException | IllegalArgumentException e) {
            a.fault(args[1], "Preview", "<p>Nothing to see.</p>", new IOException("this cannot be fetched"));
        }
    }

    private static String get(Ask a, String in, String where) throws IOException {
        String own = a.self();
        switch (where) {
            case "host" -> in = "http://" + in;
            case "page" -> in = "http://" + in + "/home.html?from=arena";
            case "begins" -> {
                if (!in.startsWith(own)) throw new IOException("not ours");
            }
            case "contains" -> {
                if (!in.contains("/home")) throw new IOException("not ours");
            }
            case "ours" -> {
                URI u = URI.create(in);
                boolean same = own.equals(u.getScheme() + "://" + u.getRawAuthority());
                if (!same || !"/home.html".equals(u.getRawPath())) throw new IOException("not ours");
            }
            case "list" -> in = own + (in.equals("home") ? "/home.html" : "/");
            case "static" -> in = own + "/home.html?q=" + java.net.URLEncoder.encode(in, StandardCharsets.UTF_8);
            default -> { }
        }
        URLConnection c = new URL(in).openConnection();
        if (!(c instanceof HttpURLConnection http)) throw new IOException("not HTTP");
        http.setInstanceFollowRedirects(false);
        http.setConnectTimeout(2000);
        http.setReadTimeout(4000);
        try (InputStream s = http.getInputStream()) {
            return new String(s.readNBytes(MOST), StandardCharsets.UTF_8);
        } finally {
            http.disconnect();
        }
    }
}
