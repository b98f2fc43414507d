package lab;

import java.io.StringReader;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathExpressionException;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** People of a company, in a directory (LDAP) and in a document (XPath). */
public class Directory extends Site {
    private static final List<Map<String, String>> PEOPLE = List.of(
        Map.of("objectclass", "person", "uid", "anna", "cn", "Anna Ash", "pin", "4711", "room", "12"),
        Map.of("objectclass", "person", "uid", "ben", "cn", "Ben Birch", "pin", "0815", "room", "14"),
        Map.of("objectclass", "service", "uid", "safe", "cn", "Safe Keeper", "pin", "9999", "room", "0"));
    private Document cards;

    private String value(String v) { return weak ? v : Filter.escaped(v); }

    private String list(String filter) {
        StringBuilder b = new StringBuilder();
        for (Map<String, String> p : PEOPLE) if (Filter.matches(filter, p)) b.append("<li>" + p.get("cn") + ", room " + p.get("room") + "</li>");
        return b.isEmpty() ? "<p>Nobody.</p>" : "<ul>" + b + "</ul>";
    }

    /** One at a time: reading a document builds it. */
    private synchronized String nodes(String path) throws XPathExpressionException {
        NodeList all = (NodeList) XPathFactory.newInstance().newXPath().evaluate(path, cards, XPathConstants.NODESET);
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < all.getLength(); i++) b.append("<li>" + enc(all.item(i).getTextContent()) + "</li>");
        return b.isEmpty() ? "<p>No card.</p>" : "<ul>" + b + "</ul>";
    }

    @Override void build() throws Exception {
        cards = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader("<cards>"
            + "<card id='1'><name>Anna Ash</name><mail>anna@lab.example</mail></card><card id='2'><name>Ben Birch</name>"
            + "<mail>ben@lab.example</mail></card><card id='3'><name>Carl Cedar</name><mail>carl@lab.example</mail></card></cards>")));
        get("/", c -> c.html(200, "Directory", "<form action=\"/people\"><input name=\"cn\" value=\"Anna\"><button>Find</button></form>"
            + form("/signon", "uid=", "*pin") + link("/card?id=1", "Card") + "<form action=\"/names\"><input name=\"part\" value=\"Ash\">"
            + "<button>Names</button></form>"));
        get("/people", c -> {
            try {
                c.html(200, "People", list("(&(objectClass=person)(cn=*" + value(c.p("cn")) + "*))"));
            } catch (IllegalArgumentException e) {
                c.html(200, "People", "<p>Nobody.</p>");
            }
        });
        post("/signon", c -> {
            String filter = "(&(uid=" + value(c.p("uid")) + ")(pin=" + value(c.p("pin")) + "))";
            try {
                boolean in = PEOPLE.stream().anyMatch(p -> Filter.matches(filter, p));
                c.html(in ? 200 : 401, "Directory", in ? "<p>Welcome. Your messages: none.</p>" : "<p>Name and PIN do not match.</p>");
            } catch (IllegalArgumentException e) {
                c.html(500, "Directory", "<p>The directory does not answer.</p>");
            }
        });
        get("/card", c -> {
            String id = weak || c.p("id").matches("\\d{1,5}") ? c.p("id") : "0";
            try {
                c.html(200, "Card", nodes("/cards/card[@id=" + id + "]/mail"));
            } catch (XPathExpressionException e) {
                c.html(500, "Card", "<p>The cards cannot be read.</p>");
            }
        });
        get("/names", c -> {
            String part = weak ? c.p("part") : c.p("part").replace("'", "");
            try {
                c.html(200, "Names", nodes("/cards/card[contains(name,'" + part + "')]/name"));
            } catch (XPathExpressionException e) {
                c.html(200, "Names", "<p>No card.</p>");
            }
        });
    }
}
