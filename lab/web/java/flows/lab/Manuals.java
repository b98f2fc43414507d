package lab;

import jakarta.servlet.DispatcherType;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Manuals: files by their names, views that are included, texts of the application, and renderers by the names of classes. */
public class Manuals extends Site {
    private static final String PLAIN = "[a-z]+\\.[a-z]+";

    private String kept(String folder, String name, String text) throws IOException {
        Path p = Path.of(getServletContext().getRealPath("/"), folder, name);
        Files.createDirectories(p.getParent());
        Files.writeString(p, text);
        return name;
    }

    @Override void build() throws Exception {
        kept("docs", "guide.txt", "Hold the drill with both hands.");
        kept("docs", "safety.txt", "Wear glasses.");
        kept("views", "about.html", "<p>Manuals since 1970.</p>");
        kept("views", "imprint.html", "<p>4 Mill Lane</p>");
        kept("texts", "short.txt", "A drill, in short.");
        get("/", c -> c.html(200, "Manuals", link("/download?file=guide.txt", "Guide") + link("/download?file=safety.txt", "Safety")
            + link("/page?view=about.html", "About") + link("/page?view=imprint.html", "Imprint") + link("/text?name=short.txt", "In short")
            + link("/render?with=lab.Manuals$Plain", "Plain") + link("/render?with=lab.Manuals$Loud", "Loud")));
        get("/download", c -> {
            String file = c.p("file");
            if (is("strip")) file = file.replace("../", "");
            Path p = Path.of(getServletContext().getRealPath("/docs") + "/" + file.replace("\0", ""));
            if (is("sound") && !file.matches(PLAIN) || !Files.isRegularFile(p)) c.html(404, "Manuals", "<p>There is no such manual.</p>");
            else c.html(200, "Manuals", "<pre>" + enc(Files.readString(p, StandardCharsets.ISO_8859_1)) + "</pre>");
        });
        get("/page", c -> {
            String view = c.p("view");
            if (!is("weak") && !view.matches(PLAIN)) {
                c.html(404, "Manuals", "<p>There is no such page.</p>");
                return;
            }
            c.answer.setContentType("text/html;charset=UTF-8");
            c.answer.getWriter().print("<!DOCTYPE html><html><head><title>Manuals</title></head><body><a href=\"/\">Start</a>");
            var to = c.ask.getRequestDispatcher("/views/" + view);
            if (to != null) to.include(c.ask, c.answer);
            c.answer.getWriter().print("</body></html>");
        });
        get("/text", c -> {
            String name = c.p("name");
            if (!is("weak") && !name.matches(PLAIN)) name = "none";
            try (InputStream in = getServletContext().getResourceAsStream("/texts/" + name)) {
                if (in == null) c.html(404, "Manuals", "<p>There is no such text.</p>");
                else c.html(200, "Manuals", "<pre>" + enc(new String(in.readNBytes(100000), StandardCharsets.UTF_8)) + "</pre>");
            }
        });
        get("/render", this::render);
    }

    /** What is included and is no page is a file of the application. */
    @Override void missing(Call c) throws Exception {
        InputStream in = c.ask.getDispatcherType() == DispatcherType.INCLUDE ? getServletContext().getResourceAsStream(c.path) : null;
        if (in == null) super.missing(c);
        else c.answer.getWriter().print(new String(in.readNBytes(100000), StandardCharsets.UTF_8));
    }

    public static final class Plain {
        @Override public String toString() { return "Hold the drill with both hands."; }
    }

    public static final class Loud {
        @Override public String toString() { return "HOLD THE DRILL WITH BOTH HANDS!"; }
    }

    private void render(Call c) throws Exception {
        String with = c.p("with");
        Object made;
        try {
            if (!is("weak")) made = Map.of("lab.Manuals$Plain", new Plain(), "lab.Manuals$Loud", new Loud()).get(with);
            else made = Class.forName(with).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError e) {
            made = null;
        }
        if (made == null) c.html(404, "Manuals", "<p>This renderer is not installed.</p>");
        else c.html(200, "Manuals", "<p>" + enc(made) + "</p>");
    }
}
