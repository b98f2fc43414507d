package lab;

import jakarta.servlet.http.Part;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Files that users attach to tickets. "weak" keeps them where the container runs pages, "type" believes the type that a client
 * says, "list" refuses one ending; "sound" keeps them elsewhere.
 */
public class Tickets extends Site {
    private record Attachment(int owner, String name, String text) { }

    private final List<Attachment> all = new ArrayList<>();

    @Override void build() {
        login("/login", "user", "password");
        all.add(new Attachment(11, "offer.txt", "Offer for anna, 4 Mill Lane: 500"));
        all.add(new Attachment(12, "contract.txt", "Contract with ben, 9 Harbour Street: 700"));
        all.add(new Attachment(11, "plan.txt", "Plan for anna: move on Friday"));
        get("/", c -> c.html(200, "Tickets", hello(c) + link("/attach", "Attach a file") + link("/attachments", "Attachments")));
        own("GET", "/attach", c -> c.html(200, "Attach", "<form action=\"/attach\" method=\"post\" enctype=\"multipart/form-data\">"
            + "<input type=\"file\" name=\"file\" accept=\"image/png\"><input name=\"note\" value=\"My picture\"><button>Attach</button></form>"));
        own("POST", "/attach", this::attach);
        own("GET", "/attachments", c -> {
            StringBuilder b = new StringBuilder();
            synchronized (all) {
                for (int i = Math.max(0, all.size() - 30); i < all.size(); i++) {
                    Attachment a = all.get(i);
                    if (a.owner == c.user().id) b.append("<p><a href=\"/attachments/" + (i + 1) + "\">" + (is("weak") ? a.name : enc(a.name)) + "</a></p>");
                }
            }
            c.html(200, "Attachments", b.toString());
        });
        own("GET", "/attachments/*", c -> {
            int n = c.segment(1).matches("\\d{1,6}") ? Integer.parseInt(c.segment(1)) : 0;
            Attachment a;
            synchronized (all) {
                a = n < 1 || n > all.size() ? null : all.get(n - 1);
            }
            if (a == null) c.html(404, "Attachment", "<p>There is no such file.</p>");
            else if (!is("weak") && a.owner != c.user().id) c.html(403, "Attachment", "<p>This file is not yours.</p>");
            else c.html(200, "Attachment", "<pre>" + enc(a.text) + "</pre>");
        });
        get("/files/*", c -> getServletContext().getNamedDispatcher("default").forward(c.ask, c.answer));
    }

    private void attach(Call c) throws Exception {
        Part part = c.ask.getContentType() != null && c.ask.getContentType().startsWith("multipart/") ? c.ask.getPart("file") : null;
        if (part == null || part.getSubmittedFileName() == null || part.getSubmittedFileName().isEmpty()) {
            c.html(400, "Attach", "<p>There is no file.</p>");
            return;
        }
        String said = part.getSubmittedFileName();
        String name = said.substring(Math.max(said.lastIndexOf('/'), said.lastIndexOf('\\')) + 1).replace("\0", "");
        if (is("type") && !"image/png".equals(part.getContentType()) || is("list") && name.endsWith(".jsp")) {
            c.html(400, "Attach", "<p>Such files are not taken.</p>");
            return;
        }
        byte[] raw;
        try (InputStream in = part.getInputStream()) {
            raw = in.readNBytes(100_000);
        }
        synchronized (all) {
            all.add(new Attachment(c.user().id, name, "A file of " + raw.length + " bytes"));
        }
        if (is("sound")) {
            c.html(200, "Attach", "<p>Attached as " + enc(name) + ".</p>");
            return;
        }
        Path to = Path.of(Objects.requireNonNull(getServletContext().getRealPath("/")), "files", name);
        try {
            Files.createDirectories(to.getParent());
            Files.write(to, raw);
        } catch (java.nio.file.FileSystemException e) { // a name that cannot be one
            c.html(400, "Attach", "<p>Such names are not taken.</p>");
            return;
        }
        c.html(200, "Attach", "<p>Attached:</p>" + link("/files/" + java.net.URLEncoder.encode(name, java.nio.charset.StandardCharsets.UTF_8)
            .replace("+", "%20"), "the file"));
    }
}
