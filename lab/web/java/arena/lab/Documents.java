package lab;

import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import javax.xml.namespace.QName;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.SAXParserFactory;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamReader;
import javax.xml.xpath.XPath;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathExpressionException;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;
import org.xml.sax.helpers.DefaultHandler;

/**
 * Selects from a document with "xpath PLACE FAULT VIEW", and reads documents that are sent with "xml PARSER FAULT".
 */
final class Documents {
    private static final String STAFF = "<staff>"
        + "<employee id=\"1\"><name>anna</name><pin>7711</pin><seat>12a</seat></employee>"
        + "<employee id=\"2\"><name>ben</name><pin>2049</pin><seat>14c</seat></employee>"
        + "<employee id=\"3\"><name>root</name><pin>9000</pin><seat>77z</seat></employee></staff>";

    private static final Map<String, String> PLACES = Map.of(
        "text", "//employee[name='@@']/seat", "double", "//employee[name=\"@@\"]/seat",
        "number", "//employee[@id=@@]/seat", "login", "//employee[name='@@' and pin='{pin}']/name",
        "contains", "//employee[contains(name,'@@')]/seat", "step", "//employee[1]/@@",
        "bound", "//employee[name=$in]/seat", "bound-login", "//employee[name=$in and pin=$pin]/name");

    void add(Map<String, Arena.Sink> sinks) {
        sinks.put("xpath", this::select);
        sinks.put("xml", this::read);
    }

    private void select(Ask a, String in, String[] args) throws IOException {
        String pin = a.p("pin").replace("'", "");
        String path = PLACES.get(args[0]).replace("{pin}", pin).replace("@@", in);
        XPath x = XPathFactory.newInstance().newXPath();
        x.setXPathVariableResolver((QName n) -> n.getLocalPart().equals("in") ? in : pin);
        StringBuilder b = new StringBuilder();
        int n = 0;
        try {
            NodeList found = (NodeList) x.evaluate(path, new InputSource(new StringReader(STAFF)),
                XPathConstants.NODESET);
            for (n = 0; n < found.getLength(); n++) b.append("<li>" + Ask.enc(found.item(n).getTextContent())
                + "</li>");
        } catch (XPathExpressionException e) {
            a.fault(args[1], "Staff", "<p>Nobody was found.</p>", e);
            return;
        }
        switch (args[2]) {
            case "exists" -> a.html(200, "Staff", n == 0 ? "<p>Nobody was found.</p>" : "<p>This one works here.</p>");
            case "welcome" -> a.html(n == 0 ? 401 : 200, "Sign in", n == 0 ? "<p>Name and PIN do not match.</p>"
                : "<p>Welcome.</p><ul>" + b + "</ul>");
            default -> a.html(200, "Staff", n == 0 ? "<p>Nobody was found.</p>" : "<ul>" + b + "</ul>");
        }
    }

    private void read(Ask a, String in, String[] args) throws Exception {
        try {
            String text = switch (args[0]) {
                case "sax", "sax-silent" -> sax(in);
                case "stream" -> stream(in, true);
                case "stream-sound" -> stream(in, false);
                case "raw" -> in;
                default -> tree(in, args[0]);
            };
            a.html(200, "Order", args[0].endsWith("silent") ? "<p>Your order was taken.</p>" : "<p>Ordered: "
                + Ask.enc(text.strip()) + "</p>");
        } catch (SAXException | IOException | javax.xml.stream.XMLStreamException e) {
            a.fault(args[1], "Order", "<p>Your order was taken.</p>", e);
        }
    }

    private static String tree(String in, String how) throws Exception {
        DocumentBuilderFactory f = DocumentBuilderFactory.newInstance();
        if (how.equals("no-doctype")) f.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        if (how.equals("no-entities")) {
            f.setFeature("http://xml.org/sax/features/external-general-entities", false);
            f.setFeature("http://xml.org/sax/features/external-parameter-entities", false);
            f.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        }
        f.setXIncludeAware(how.equals("include"));
        f.setNamespaceAware(how.equals("include"));
        var builder = f.newDocumentBuilder();
        builder.setErrorHandler(null);
        return builder.parse(new InputSource(new StringReader(in))).getDocumentElement().getTextContent();
    }

    private static String sax(String in) throws Exception {
        StringBuilder b = new StringBuilder();
        SAXParserFactory.newInstance().newSAXParser().parse(new InputSource(new StringReader(in)),
            new DefaultHandler() {
            @Override public void characters(char[] text, int from, int length) { b.append(text, from, length); }
        });
        return b.toString();
    }

    private static String stream(String in, boolean weak) throws Exception {
        XMLInputFactory f = XMLInputFactory.newInstance();
        f.setProperty(XMLInputFactory.SUPPORT_DTD, weak);
        f.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, weak);
        XMLStreamReader r = f.createXMLStreamReader(new StringReader(in));
        StringBuilder b = new StringBuilder();
        while (r.hasNext()) {
            r.next();
            if (r.isCharacters()) b.append(r.getText());
        }
        return b.toString();
    }
}
