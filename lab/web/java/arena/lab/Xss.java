package lab;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/** Puts a value in a place of a page; what stands before it in the pipeline says which characters still arrive. */
final class Xss implements Arena.Sink {
    private static final int MOST = 30;

    /** A page with @@ where the value stands. One of text/html is framed, unless whole. */
    private record Place(int status, String type, boolean whole, String text) { }

    private final Map<String, Place> places = new HashMap<>();
    private final Deque<String> book = new ArrayDeque<>();

    Xss() {
        text();
        attributes();
        scripts();
        others();
    }

    private void put(String name, String text) {
        places.put(name, new Place(200, "text/html; charset=utf-8", false, text));
    }

    private void text() {
        put("text", "<p>You searched for @@, and nothing was found.</p>");
        put("cell", "<table><tr><th>Name</th><td>@@</td></tr></table>");
        put("textarea", "<textarea name=\"note\" rows=\"3\">@@</textarea>");
        put("option", "<select name=\"size\"><option>small</option><option selected>@@</option></select>");
        put("noscript", "<noscript><p>Your browser has no scripts, @@.</p></noscript><p>Welcome.</p>");
        put("comment", "<p>Welcome.</p><!-- asked for @@ today -->");
        put("style", "<style>.box { color: @@; }</style><p class=\"box\">A box.</p>");
        put("level", "<h@@>A heading</h2>");
        places.put("missing", new Place(404, "text/html; charset=utf-8", false, "<p>There is no page @@ here.</p>"));
        places.put("failed", new Place(500, "text/html; charset=utf-8", false,
            "<p>The value @@ could not be used.</p>"));
        places.put("refused", new Place(403, "text/html; charset=utf-8", false, "<p>@@ may not be read.</p>"));
        places.put("title", new Place(200, "text/html; charset=utf-8", true,
            "<html><head><title>Results for @@</title></head><body><p>No results.</p></body></html>"));
        places.put("meta", new Place(200, "text/html; charset=utf-8", true,
            "<html><head><meta name=\"keywords\" content=\"shop, @@\"><title>Shop</title></head>"
            + "<body><p>A shop.</p></body></html>"));
        places.put("base", new Place(200, "text/html; charset=utf-8", true,
            "<html><head><base href=\"@@\"><title>Shop</title></head>"
            + "<body><script src=\"shop.js\"></script></body></html>"));
    }

    private void attributes() {
        put("double", "<form><input type=\"text\" name=\"again\" value=\"@@\"></form>");
        put("single", "<form><input type='text' name='again' value='@@'></form>");
        put("bare", "<form><input type=text name=again value=@@ ></form>");
        put("name", "<form><input type=\"text\" @@ name=\"again\"></form>");
        put("href", "<p><a href=\"@@\">Back to where you came from</a></p>");
        put("href-host", "<p><a href=\"http://@@/\">To that host</a></p>");
        put("frame", "<iframe src=\"@@\" width=\"300\"></iframe>");
        put("frame-text", "<iframe srcdoc=\"@@\" width=\"300\"></iframe>");
        put("action", "<form action=\"@@\"><button>Go on</button></form>");
        put("script-src", "<script src=\"@@\"></script><p>A script.</p>");
        put("click", "<button onclick=\"pick('@@')\">Pick</button>");
        put("over", "<p onmouseover=\"turn(@@)\">Turn it</p>");
        put("kept", "<div id=\"note\" data-note=\"@@\"></div>"
            + "<script>var e = document.getElementById('note'); e.innerHTML = e.dataset.note;</script>");
        put("kept-text", "<div id=\"note\" data-note=\"@@\"></div>"
            + "<script>var e = document.getElementById('note'); e.textContent = e.dataset.note;</script>");
    }

    private void scripts() {
        put("script-single", "<script>var who = '@@'; document.title = who;</script>");
        put("script-double", "<script>var who = \"@@\"; document.title = who;</script>");
        put("script-number", "<script>var page = @@; document.title = 'Page ' + page;</script>");
        put("script-template", "<script>var who = `Hello @@`; document.title = who;</script>");
        put("script-line", "<script>\n// last asked for @@\nvar a = 1;\n</script><p>Welcome.</p>");
        put("script-block", "<script>/* last asked for @@ */ var a = 1;</script><p>Welcome.</p>");
        put("script-json", "<script>var state = {\"query\": \"@@\", \"page\": 1};</script><p>Welcome.</p>");
    }

    private void others() {
        places.put("json", new Place(200, "text/html", true, "{\"query\": \"@@\", \"found\": []}"));
        places.put("json-right", new Place(200, "application/json", true, "{\"query\": \"@@\", \"found\": []}"));
        places.put("callback", new Place(200, "text/html", true, "@@({\"found\": []});"));
        places.put("callback-right", new Place(200, "text/javascript", true, "/**/done({\"query\": \"@@\"});"));
        places.put("plain-right", new Place(200, "text/plain; charset=utf-8", true, "You searched for @@.\n"));
        places.put("picture", new Place(200, "image/svg+xml", true,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90\" height=\"20\"><text y=\"15\">@@</text></svg>"));
        places.put("fragment", new Place(200, "text/html", true, "<b>@@</b>"));
    }

    @Override public void serve(Ask a, String in, String[] args) throws IOException {
        switch (args[0]) {
            case "book" -> {
                synchronized (book) {
                    if (!in.isEmpty()) book.addFirst(in);
                    while (book.size() > MOST) book.removeLast();
                    a.html(200, "Guest book", "<ul><li>" + String.join("</li><li>", book) + "</li></ul>");
                }
                return;
            }
            case "gone" -> { // no browser shows the body of a redirect
                a.a.setHeader("Location", "/home.html");
                a.html(302, "Gone", "<p>" + in + " has gone to another page.</p>");
                return;
            }
            case "file" -> a.a.setHeader("Content-Disposition", "attachment; filename=\"note.txt\"");
            case "article" -> {
                a.html(200, "Scripts in pages", "<p>Who writes &lt;script&gt;alert(1)&lt;/script&gt; is no friend. "
                    + in.length()
                    + " characters were sent.</p><script>var alert1 = 'alert(1)';</script>");
                return;
            }
            default -> { }
        }
        Place p = places.get(args[0].equals("file") ? "plain-right" : args[0]);
        String text = p.text.replace("@@", in);
        if (!p.type.startsWith("text/html")) a.a.setHeader("X-Content-Type-Options", "nosniff");
        if (p.whole) a.send(p.status, p.type, text);
        else a.html(p.status, "Answer", text);
    }
}
