package lab;

import java.io.InputStream;
import java.io.StringReader;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;
import org.xml.sax.helpers.DefaultHandler;

/**
 * Orders as XML, labels that are made with XML, and pictures by their addresses. In "error", the answer to
 * an order shows faults alone; in "filter", addresses are compared as they are written.
 */
public class Exchange extends Site {
    private static final String DOCTYPES = "http://apache.org/xml/features/disallow-doctype-decl";
    private static final int WAIT = 2000, MOST = 1000;

    private static final String SAMPLE = "<?xml version=\"1.0\"?><soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\">"
        + "<soap:Body><stock><item>lamp</item></stock></soap:Body></soap:Envelope>";

    private static Document parse(String text, boolean doctypes, boolean includes) throws Exception {
        DocumentBuilderFactory f = DocumentBuilderFactory.newInstance();
        f.setNamespaceAware(true);
        f.setXIncludeAware(includes);
        f.setFeature(DOCTYPES, !doctypes);
        DocumentBuilder b = f.newDocumentBuilder();
        b.setErrorHandler(new DefaultHandler());
        return b.parse(new InputSource(new StringReader(text)));
    }

    private static String first(Document d, String name) {
        NodeList all = d.getElementsByTagName(name);
        return all.getLength() == 0 ? "" : all.item(0).getTextContent();
    }

    @Override void build() {
        get("/", c -> c.html(200, "Exchange", "<button onclick=\"ask()\">Stock</button><script>function ask() { fetch('/ws/stock', {method: 'POST', "
            + "headers: {'Content-Type': 'text/xml'}, body: " + Json.text(SAMPLE) + "}).then(r => r.text()).then(t => alert(t)); }</script>"
            + "<form action=\"/label\"><input name=\"text\" value=\"Fragile\"><button>Label</button></form>"
            + form("/import", "source=http://feeds.lab.example/lamp.txt")));
        post("/ws/stock", c -> {
            String said;
            try {
                String item = first(parse(c.body(), is("weak", "error"), false), "item");
                said = (is("weak") ? "<item>" + enc(item) + "</item>" : "") + "<left>" + (item.equals("lamp") ? 3 : 0) + "</left>";
            } catch (SAXException | java.io.IOException e) {
                said = "<soap:Fault><faultstring>" + (is("filter") ? "The order cannot be read" : enc(e.getMessage())) + "</faultstring></soap:Fault>";
            }
            c.send(said.contains("Fault") ? 500 : 200, "text/xml", "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body>"
                + said + "</soap:Body></soap:Envelope>");
        });
        get("/label", c -> {
            String text = is("weak") ? c.p("text") : enc(c.p("text"));
            try {
                c.html(200, "Label", "<pre>" + enc(first(parse("<label><text>" + text + "</text></label>", false, is("weak")), "text")) + "</pre>");
            } catch (SAXException e) {
                c.html(400, "Label", "<p>This cannot be printed.</p>");
            }
        });
        post("/import", this::fetch);
    }

    private void fetch(Call c) throws Exception {
        String source = c.p("source"), lower = source.toLowerCase();
        boolean refused = is("filter") && (!lower.startsWith("http") || lower.contains("localhost") || lower.contains("127.0.0.1"))
            || is("sound") && !lower.matches("http://feeds\\.lab\\.example/[a-z.]*");
        String text = null;
        try {
            if (!refused) {
                URLConnection u = new URL(source).openConnection();
                u.setConnectTimeout(WAIT);
                u.setReadTimeout(WAIT);
                try (InputStream in = u.getInputStream()) {
                    text = new String(in.readNBytes(MOST), StandardCharsets.UTF_8);
                }
            }
        } catch (java.io.IOException | IllegalArgumentException e) {
            text = null;
        }
        c.html(200, "Import", text == null ? "<p>Nothing can be read there.</p>" : "<p>Imported:</p><pre>" + enc(text) + "</pre>");
    }
}
