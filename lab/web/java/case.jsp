<%@ page contentType="text/html;charset=UTF-8" session="false" trimDirectiveWhitespaces="true"
    import="java.io.*,java.net.*,java.nio.charset.StandardCharsets,java.nio.file.*,java.sql.*,java.util.*,java.util.concurrent.*,java.util.regex.*,javax.xml.parsers.*,javax.xml.xpath.*,org.w3c.dom.*,org.xml.sax.InputSource" %><%!
// The JSP application of the lab: each case of cases.tsv is a filter and a sink. Weak on purpose; loopback only.
static final Map<String, String[]> CASES = new LinkedHashMap<>();
static final Map<String, List<String>> NOTES = new ConcurrentHashMap<>();
static final Map<String, String> KEPT = new ConcurrentHashMap<>();
static final String FILES = System.getenv("LAB_FILES"), SELF = System.getenv("LAB_SELF");
static final BlockingQueue<Connection> POOL = new LinkedBlockingQueue<>();
static final Random RANDOM = new Random();

public void jspInit() {
    try {
        for (String line : Files.readAllLines(Paths.get(System.getenv("LAB_CASES")))) {
            String[] f = line.split("\t", -1);
            if (f[0].equals("java")) CASES.put(f[1], f);
        }
        Class.forName("org.postgresql.Driver");
        for (int i = 0; i < 8; i++) POOL.add(DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + System.getenv("LAB_POSTGRES_PORT") + "/postgres?user=lab"));
    } catch (Exception e) { throw new RuntimeException(e); }
}
static String enc(String s) {
    return s == null ? "" : s.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;").replace("'", "&#39;");
}
static String once(String s, String... words) {
    for (String w : words) { int i = s.toLowerCase().indexOf(w); if (i >= 0) s = s.substring(0, i) + s.substring(i + w.length()); }
    return s;
}
static String number(String v) { Matcher m = Pattern.compile("^\\s*(-?\\d{1,9})").matcher(v); return m.find() ? m.group(1) : "0"; }
static String body(HttpServletRequest q) throws IOException { return new String(q.getInputStream().readNBytes(1 << 20), StandardCharsets.UTF_8); }
// The text of one field of a flat JSON object.
static String field(String json, String name) {
    Matcher m = Pattern.compile("\"" + Pattern.quote(name) + "\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(json);
    if (!m.find()) return "";
    StringBuilder b = new StringBuilder();
    String s = m.group(1);
    for (int i = 0; i < s.length(); i++) {
        char c = s.charAt(i);
        if (c != '\\') { b.append(c); continue; }
        c = s.charAt(++i);
        if (c == 'u' && i + 4 < s.length()) { b.append((char) Integer.parseInt(s.substring(i + 1, i + 5), 16)); i += 4; }
        else b.append(c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c);
    }
    return b.toString();
}
static String json(String v) {
    StringBuilder b = new StringBuilder("\"");
    for (char c : v.toCharArray()) { if (c == '"' || c == '\\') b.append('\\').append(c); else if (c < ' ') b.append(String.format("\\u%04x", (int) c)); else b.append(c); }
    return b.append('"').toString();
}
static String sql(String[] c, String v, boolean safe, String pass, HttpServletResponse res) throws Exception {
    String sink = c[3], filter = c[4];
    if (filter.equals("once")) v = once(v, "union", "select");
    if (filter.equals("decoy") && sink.equals("blind")) Thread.sleep(700 + RANDOM.nextInt(800));
    String help = filter.equals("decoy") ? "<p>Help: \"org.postgresql.util.PSQLException: ERROR: unterminated quoted string at or near\" means that a quote is missing.</p>" : "";
    String q = safe ? v.replace("'", "''").replace("\0", "") : v, n = safe ? number(v) : v;
    boolean known = Arrays.asList("name", "price", "id").contains(v);
    String column = safe ? (known ? v : "id") : v, members = v;
    if (safe) { StringJoiner j = new StringJoiner(","); for (String one : v.split(",")) j.add(number(one)); members = j.toString(); }
    String select = "SELECT name, price FROM items ", text = null;
    switch (sink) {
        case "where": case "quiet": text = select + "WHERE name='" + q + "'"; break;
        case "number": case "quietnumber": text = select + "WHERE id=" + n; break;
        case "like": text = select + "WHERE name LIKE '%" + q + "%'"; break;
        case "bracket": text = select + "WHERE ((name='" + q + "') AND price>0)"; break;
        case "members": text = select + "WHERE id IN (" + members + ")"; break;
        case "order": text = select + "ORDER BY " + column; break;
        case "column": text = "SELECT " + column + " AS name, price FROM items"; break;
        case "limit": text = select + "LIMIT " + n; break;
        case "insert": text = "INSERT INTO log (who, what) VALUES ('" + q + "', 'view')"; break;
        case "update": text = "UPDATE counters SET n=n+1 WHERE page='" + q + "'"; break;
        case "login": text = "SELECT name, mail AS price FROM users WHERE name='" + q + "' AND pass='" + pass.replace("'", "''") + "'"; break;
        case "blind": text = "SELECT name FROM items WHERE name='" + q + "'"; break;
    }
    Connection db = POOL.take();
    StringBuilder list = new StringBuilder();
    try (Statement st = db.createStatement()) {
        if (st.execute(text)) for (ResultSet r = st.getResultSet(); r.next(); )
            if (!sink.equals("blind")) list.append("<li>" + enc(r.getString(1)) + " " + enc(r.getString(2)) + "</li>");
    } catch (SQLException e) {
        if (sink.equals("where") || sink.equals("number")) return help + "<p>" + enc(e.toString()) + "</p>";
        if (sink.equals("insert") || sink.equals("update")) { res.setStatus(500); return "<p>Something went wrong.</p>"; }
        if (!sink.equals("blind")) return help + "<p>Nothing found.</p>";
    } finally { POOL.add(db); }
    if (Arrays.asList("insert", "update", "blind").contains(sink)) return "<p>Noted.</p>";
    if (sink.equals("login")) return list.length() > 0 ? "<p>Welcome back.</p>" : "<p>Wrong name or password.</p>";
    return help + (list.length() > 0 ? "<ul>" + list + "</ul>" : "<p>Nothing found.</p>");
}
static String xss(String[] c, String v, HttpServletRequest req, HttpServletResponse res) throws Exception {
    String filter = c[4];
    switch (filter) {
        case "angle": v = v.replace("<", "&lt;").replace(">", "&gt;"); break;
        case "quote": v = v.replace("\"", "&quot;").replace("'", "&#39;"); break;
        case "all": v = enc(v); break;
        case "local": v = enc(v.matches("(?s)/[^/\\\\].*") ? v : "/"); break;
        case "json": res.setContentType("application/json"); return "\0{\"hello\":" + json(v) + "}";
        case "text": res.setContentType("text/plain"); res.setHeader("X-Content-Type-Options", "nosniff"); return "\0Hello " + v;
    }
    boolean plain = filter.equals("plain");
    switch (c[3]) {
        case "stored":
            List<String> notes = NOTES.computeIfAbsent(c[1], k -> new CopyOnWriteArrayList<>());
            if (req.getMethod().equals("POST")) { notes.add(v); res.setStatus(303); res.setHeader("Location", c[1]); return ""; }
            StringBuilder b = new StringBuilder();
            for (String note : notes) b.append("<li>" + note + "</li>");
            return "<ul>" + b + "</ul>";
        case "text": return "<p>Hello " + v + "</p>";
        case "quoted": return "<p title=\"" + v + "\">Hello</p>";
        case "single": return "<p title='" + v + "'>Hello</p>";
        case "bare": return "<input value=" + v + ">";
        case "href": return "<a href=\"" + (plain ? enc(v) : v) + "\">site</a>";
        case "string": return "<script>var a = '" + v + "';</script>";
        case "dstring": return "<script>var a = \"" + v + "\";</script>";
        case "literal": return "<script>var a = `" + v.replace("`", "").replace("</", "") + "`;</script>";
        case "block": return "<script>var a = {\"name\": " + json(v) + "};</script>";
        case "comment": return "<!-- " + v + " -->";
        case "textarea": return "<textarea>" + v + "</textarea>";
        case "title": return "<title>" + v + "</title>";
        case "style": return "<style>/* " + v + " */</style>";
        case "handler": return "<button onclick=\"hello('" + (plain ? v.replace("\"", "&quot;").replace("<", "&lt;") : v) + "')\">Hello</button>";
    }
    return "<input type=\"text\" value=\"" + v + "\">";
}
static String command(String[] c, String v, boolean safe) throws Exception {
    if (c[4].equals("once")) v = once(v, ";", "&");
    String help = c[4].equals("decoy") ? "<p>Help: \"sh: 1: Syntax error: Unterminated quoted string\" means that a quote is missing. uid=0(root) is the administrator.</p>" : "";
    v = v.replace("\0", "");
    ProcessBuilder p = safe ? new ProcessBuilder("echo", "host", v) : new ProcessBuilder("sh", "-c",
        c[3].equals("single") ? "echo 'host " + v + "'" : c[3].equals("dquoted") ? "echo \"host " + v + "\"" : "echo host " + v);
    Process run = p.directory(new File(FILES)).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String out = new String(run.getInputStream().readNBytes(1 << 20), StandardCharsets.UTF_8);
    run.waitFor();
    return help + (c[3].equals("silent") ? "<p>Done.</p>" : "<pre>" + enc(out) + "</pre>");
}
static String file(String[] c, String v) {
    if (c[4].equals("dots")) v = v.replace("../", "");
    if (c[4].equals("base") || c[4].equals("decoy")) v = v.substring(v.lastIndexOf('/') + 1);
    String help = c[4].equals("decoy") ? "<p>Help: \"java.io.FileNotFoundException: (No such file or directory)\" means that there is no such file. root:x:0: is the first line of a list of users.</p>" : "";
    try {
        File f = new File(c[3].equals("absolute") ? v : FILES + "/" + v);
        if (c[4].equals("real") && !f.getCanonicalPath().startsWith(new File(FILES).getCanonicalPath() + "/")) return "<p>No such file.</p>";
        try (InputStream in = new FileInputStream(f)) { return help + "<pre>" + enc(new String(in.readNBytes(100000), StandardCharsets.UTF_8)) + "</pre>"; }
    } catch (Exception e) { return help + "<p>No such file.</p>"; }
}
static String redirect(String[] c, String v, HttpServletResponse res) throws Exception {
    String filter = c[4];
    if (filter.equals("local") && !v.matches("/(?![/\\\\])[^\\x00-\\x20]*") || filter.equals("slash") && !v.startsWith("/") || filter.equals("own") && !v.contains("lab.example")) v = "/home.html";
    if (filter.equals("inquery")) v = "/home.html?next=" + URLEncoder.encode(v, "UTF-8");
    if (c[3].equals("meta")) return "<meta http-equiv=\"refresh\" content=\"0;url=" + enc(v) + "\">";
    if (c[3].equals("assign")) return "<script>location = " + json(v).replace("<", "\\u003c") + ";</script>";
    res.setStatus(302);
    res.setHeader("Location", v.replace("\r", "").replace("\n", ""));
    return "";
}
static String xxe(String v, boolean safe, HttpServletResponse res) {
    try {
        DocumentBuilderFactory f = DocumentBuilderFactory.newInstance();
        f.setAttribute("http://javax.xml.XMLConstants/property/accessExternalDTD", "file");
        if (safe) f.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        NodeList titles = f.newDocumentBuilder().parse(new InputSource(new StringReader(v))).getElementsByTagName("title");
        return "<p>" + enc(titles.getLength() > 0 ? titles.item(0).getTextContent() : "") + "</p>";
    } catch (Exception e) { res.setStatus(400); return "<p>No feed.</p>"; }
}
static String ssrf(String v) {
    try {
        if (!v.matches("https?://(127\\.0\\.0\\.1|localhost)[:/].*")) throw new IOException();
        URLConnection u = new URL(v).openConnection();
        u.setConnectTimeout(3000); u.setReadTimeout(3000);
        return "<pre>" + enc(new String(u.getInputStream().readNBytes(10000), StandardCharsets.UTF_8)) + "</pre>";
    } catch (Exception e) { return "<p>It cannot be reached.</p>"; }
}
static String xpath(String v, boolean safe, HttpServletResponse res) throws Exception {
    Document doc = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(
        "<users><user><name>anna</name><mail>anna@lab.example</mail></user><user><name>ben</name><mail>ben@lab.example</mail></user></users>")));
    if (safe) v = v.replace("'", "").replace("\"", "");
    try {
        NodeList found = (NodeList) XPathFactory.newInstance().newXPath().evaluate("//user[name='" + v + "']/mail", doc, XPathConstants.NODESET);
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < found.getLength(); i++) b.append("<li>" + enc(found.item(i).getTextContent()) + "</li>");
        return b.length() > 0 ? "<ul>" + b + "</ul>" : "<p>Nobody.</p>";
    } catch (XPathExpressionException e) { res.setStatus(500); return "<p>Something went wrong.</p>"; }
}
%><%
request.setCharacterEncoding("UTF-8");
String at = request.getServletPath() + (request.getPathInfo() == null ? "" : request.getPathInfo());
String[] c = CASES.get(at);
if (c == null) for (String[] one : CASES.values()) if (Arrays.asList("path", "kept", "steps").contains(one[5]) && at.startsWith(one[1] + "/")) c = one;
if (c == null) {
    InputStream in = application.getResourceAsStream(at + (at.endsWith("/") ? "index.html" : ""));
    if (in == null) { response.sendError(404); return; }
    out.print(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    return;
}
String cls = c[2], sink = c[3], filter = c[4], param = c[6], usual = c[7].replace("{self}", SELF).replace("{files}", FILES), v = "", whole = "", pass = "";
boolean steps = c[5].equals("steps");
if (steps || c[5].equals("kept")) {
    String visit = null;
    if (request.getCookies() != null) for (Cookie k : request.getCookies()) if (k.getName().equals("visit")) visit = k.getValue();
    if (at.equals(c[1])) {
        if (visit == null) {
            visit = UUID.randomUUID().toString();
            response.addHeader("Set-Cookie", "visit=" + visit + "; Path=/; HttpOnly; SameSite=Lax");
        }
        if (request.getMethod().equals("POST")) KEPT.put(visit + c[1], Objects.toString(request.getParameter(param), ""));
        out.print("<!DOCTYPE html><html><head><title>Lab</title></head><body><h1>Lab</h1>" + (steps
            ? "<form method=\"post\" action=\"" + c[1] + "/next\"><input name=\"sure\" value=\"yes\"><button>Go</button></form>"
            : "<p>Thank you. <a href=\"" + c[1] + "/view\">view</a></p>") + "</body></html>");
        return;
    }
    v = KEPT.getOrDefault(visit + c[1], "");
}
switch (c[5]) {
    case "query": v = request.getParameter(param); break;
    case "form": v = request.getParameter(param); pass = request.getParameter("pass"); break;
    case "path": v = at.length() > c[1].length() ? at.substring(c[1].length() + 1) : ""; break;
    case "header": v = request.getHeader(param); break;
    case "xml": v = body(request); break;
    case "json": whole = body(request); v = field(whole, param); pass = field(whole, "pass"); break;
    case "cookie":
        v = null;
        if (request.getCookies() != null) for (Cookie k : request.getCookies()) if (k.getName().equals(param)) v = URLDecoder.decode(k.getValue().replace("+", "%2B"), "UTF-8");
        if (v == null) {
            v = filter.equals("base64") ? Base64.getEncoder().encodeToString(usual.getBytes()) : usual;
            response.addHeader("Set-Cookie", param + "=" + URLEncoder.encode(v, "UTF-8") + "; Path=" + c[1] + "; HttpOnly; SameSite=Lax");
        }
}
if (v == null) v = "";
if (pass == null) pass = "";
if (filter.equals("base64")) try { v = new String(Base64.getMimeDecoder().decode(v), StandardCharsets.UTF_8); } catch (IllegalArgumentException e) { v = ""; }
if (filter.equals("nospace")) v = v.replaceAll("\\s", "");
if (filter.equals("script")) v = v.replaceFirst("(?i)<script>", "");
boolean safe = Arrays.asList("bind", "reject", "list", "number", "decoy").contains(filter);
String html;
if (filter.equals("reject") && Pattern.compile("[^\\w .,+/?=:-]").matcher(v).find()) { response.setStatus(403); html = "<p>Forbidden characters.</p>"; }
else if (filter.equals("list") && !Arrays.asList(usual, "table", "beta", "b.txt", "price", "/help").contains(v)) html = "<p>Unknown value.</p>";
else switch (cls) {
    case "sql": html = sql(c, v, safe, pass, response); break;
    case "xss": html = xss(c, v, request, response); break;
    case "command": html = command(c, v, safe); break;
    case "path": html = file(c, v); break;
    case "redirect": html = redirect(c, v, response); break;
    case "xxe": html = xxe(v, safe, response); break;
    case "ssrf": html = ssrf(v); break;
    default: html = xpath(v, safe, response);
}
if (html.startsWith("\0")) out.print(html.substring(1));
else out.print("<!DOCTYPE html><html><head><title>Lab</title></head><body><h1>Lab</h1>" + html + "</body></html>");
%>
