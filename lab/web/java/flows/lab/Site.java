package lab;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpSession;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * An application of several pages. Its variants are weak in other ways, and "sound" only looks weak. All of them are weak on
 * purpose, keep what users do in memory, and serve loopback only.
 */
public abstract class Site extends HttpServlet {
    interface Page { void serve(Call c) throws Exception; }

    static final class User {
        final int id;
        final String name, pass;
        volatile String mail, role;
        final Map<String, String> more = new ConcurrentHashMap<>();

        User(int id, String name, String pass, String role) {
            this.id = id;
            this.name = name;
            this.pass = pass;
            this.mail = name + "@lab.example";
            this.role = role;
        }
    }

    private record Route(String method, Pattern path, Page page) { }

    private static final int MAX_FAILED = 8;

    final Map<String, User> users = new LinkedHashMap<>();
    String variant;
    boolean weak;
    String entry = "/login";
    boolean keepsId; // a session has the same name after a login as before
    Page entered = c -> c.go("/");

    private final List<Route> routes = new ArrayList<>();
    private final Map<String, Integer> failed = new ConcurrentHashMap<>();
    private final BlockingQueue<Connection> pool = new LinkedBlockingQueue<>();
    private final byte[] key = java.security.SecureRandom.getSeed(32);

    abstract void build() throws Exception;

    @Override public void init() throws ServletException {
        variant = getServletContext().getInitParameter("variant");
        weak = !is("sound");
        users.put("anna", new User(11, "anna", "anna-Pass1", "member"));
        users.put("ben", new User(12, "ben", "ben-Pass2", "member"));
        users.put("root", new User(1, "root", "root-Pass9", "admin"));
        get("/home.html", c -> c.html(200, "Home", ""));
        try {
            build();
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }

    boolean is(String... names) { return Arrays.asList(names).contains(variant); }

    void on(String method, String path, Page page) {
        String pattern = Arrays.stream(path.split("\\*", -1)).map(Pattern::quote).reduce((a, b) -> a + "([^/]+)" + b).get();
        routes.add(new Route(method, Pattern.compile(pattern), page));
    }
    void get(String path, Page page) { on("GET", path, page); }
    void post(String path, Page page) { on("POST", path, page); }
    /** A page for users alone. */
    void own(String method, String path, Page page) {
        on(method, path, c -> {
            if (c.user() == null) c.go(entry);
            else page.serve(c);
        });
    }
    /** A page for administrators alone. */
    void admin(String method, String path, Page page) {
        own(method, path, c -> {
            if (c.user().role.equals("admin")) page.serve(c);
            else c.html(403, "Refused", "<p>This is for administrators.</p>");
        });
    }

    @Override protected void service(HttpServletRequest q, HttpServletResponse a) throws ServletException, IOException {
        q.setCharacterEncoding("UTF-8");
        Call c = new Call(this, q, a);
        String method = q.getMethod().equals("HEAD") ? "GET" : q.getMethod();
        boolean known = false;
        try {
            for (Route r : routes) {
                Matcher m = r.path.matcher(c.path);
                if (!m.matches()) continue;
                known = true;
                if (!r.method.equals(method)) continue;
                c.found = m;
                r.page.serve(c);
                return;
            }
            if (known) c.html(405, "Not allowed", "<p>This cannot be done here.</p>");
            else missing(c);
        } catch (ServletException | IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }

    void missing(Call c) throws Exception { c.html(404, "Not found", "<p>There is no such page.</p>"); }

    /** Gives an application a form to log in, with names of its own for the fields. */
    void login(String path, String name, String pass) {
        entry = path;
        String form = form(path, name + "=", "*" + pass);
        get(path, c -> c.html(200, "Sign in", form));
        post(path, c -> {
            User u = users.get(c.p(name));
            if (failed.getOrDefault(c.p(name), 0) > MAX_FAILED) {
                c.html(429, "Sign in", "<p>Try again later.</p>");
                return;
            }
            if (u == null || !u.pass.equals(c.p(pass))) {
                failed.merge(c.p(name), 1, Integer::sum);
                c.html(401, "Sign in", "<p>Name and password do not match.</p>" + form);
                return;
            }
            HttpSession s = c.ask.getSession();
            if (!keepsId) c.ask.changeSessionId();
            s.setAttribute("user", u);
            entered.serve(c);
        });
        get("/logout", c -> {
            leave(c);
            c.go("/");
        });
    }

    void leave(Call c) {
        HttpSession s = c.ask.getSession(false);
        if (s != null) s.invalidate();
    }

    String hello(Call c) {
        User u = c.user();
        return u == null ? link(entry, "Sign in") : "<p>You are " + u.name + ". <a href=\"/logout\">Sign out</a></p>";
    }

    /** Rows of a statement; without values, it is sent as it is. A schema of its own holds the tables of an application. */
    List<List<String>> rows(String text, Object... values) throws Exception {
        Connection db = pool.take();
        try (PreparedStatement p = values.length == 0 ? null : db.prepareStatement(text);
             java.sql.Statement s = values.length == 0 ? db.createStatement() : null) {
            for (int i = 0; i < values.length; i++) p.setObject(i + 1, values[i]);
            List<List<String>> out = new ArrayList<>();
            if (!(p != null ? p.execute() : s.execute(text))) return out;
            ResultSet r = p != null ? p.getResultSet() : s.getResultSet();
            while (r.next()) {
                List<String> row = new ArrayList<>();
                for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) row.add(r.getString(i));
                out.add(row);
            }
            return out;
        } finally {
            pool.add(db);
        }
    }

    void database(String... statements) throws Exception {
        Class.forName("org.postgresql.Driver");
        String schema = getClass().getSimpleName().toLowerCase() + "_" + variant;
        for (int i = 0; i < 4; i++)
            pool.add(DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + System.getenv("LAB_POSTGRES_PORT")
                + "/postgres?user=lab&currentSchema=" + schema));
        rows("CREATE SCHEMA " + schema);
        for (String s : statements) rows(s);
    }

    String seal(String text) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
    }
    static String random() { return java.util.UUID.randomUUID().toString().replace("-", ""); }

    static String enc(Object o) {
        return String.valueOf(o).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            .replace("\"", "&quot;").replace("'", "&#39;");
    }
    static String link(String to, String text) { return "<p><a href=\"" + enc(to) + "\">" + text + "</a></p>"; }

    /** A form whose fields are name=value; *name is a password, -name=value hidden. */
    static String form(String action, String... fields) {
        StringBuilder b = new StringBuilder("<form action=\"" + enc(action) + "\" method=\"post\">");
        for (String f : fields) {
            int at = f.indexOf('=');
            String name = at < 0 ? f : f.substring(0, at), value = at < 0 ? "" : enc(f.substring(at + 1));
            if (name.startsWith("-")) {
                b.append("<input type=\"hidden\" name=\"" + name.substring(1) + "\" value=\"" + value + "\">");
                continue;
            }
            String kind = name.startsWith("*") ? "password" : "text";
            name = name.replace("*", "");
            b.append("<p><label>" + name + " <input type=\"" + kind + "\" name=\"" + name + "\" value=\"" + value + "\"></label></p>");
        }
        return b.append("<button type=\"submit\">Send</button></form>").toString();
    }
}
