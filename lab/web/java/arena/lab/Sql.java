package lab;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Puts a value in a statement: "sql PLACE FAULT VIEW". A fault is a word of Ask.fault. A view is what the page shows of
 * rows: list, first, welcome, exists, found (404 without rows), or same for nothing at all. "sql bound-PLACE" binds the
 * value instead.
 */
final class Sql implements Arena.Sink {
    private static final int CONNECTIONS = 10;
    private static final String GOODS = "SELECT name, price FROM goods ";

    private final Map<String, String> places = new HashMap<>();
    private final BlockingQueue<Connection> pool = new LinkedBlockingQueue<>();
    private final AtomicInteger turn = new AtomicInteger();

    Sql() throws Exception {
        places.put("text", GOODS + "WHERE tag = '@@' ORDER BY id");
        places.put("number", GOODS + "WHERE id = @@");
        places.put("date", GOODS + "WHERE made = '@@' ORDER BY id");
        places.put("like", GOODS + "WHERE name LIKE '%@@%' ORDER BY id");
        places.put("lower", GOODS + "WHERE lower(tag) = lower('@@') ORDER BY id");
        places.put("brackets", GOODS + "WHERE ((tag = '@@') AND (price < 400)) ORDER BY id");
        places.put("between", GOODS + "WHERE price BETWEEN @@ AND 150 ORDER BY id");
        places.put("in-number", GOODS + "WHERE id IN (@@) ORDER BY id");
        places.put("in-text", GOODS + "WHERE tag IN ('steel', '@@') ORDER BY id");
        places.put("order", GOODS + "ORDER BY @@");
        places.put("direction", GOODS + "ORDER BY price @@");
        places.put("identifier", GOODS + "ORDER BY \"@@\"");
        places.put("limit", GOODS + "ORDER BY id LIMIT @@");
        places.put("offset", GOODS + "ORDER BY id LIMIT 1 OFFSET @@");
        places.put("column", "SELECT name, @@ FROM goods ORDER BY id LIMIT 2");
        places.put("table", "SELECT name, price FROM @@ ORDER BY 1 LIMIT 5");
        places.put("having", "SELECT tag, count(*) FROM goods GROUP BY tag HAVING count(*) > @@ ORDER BY tag");
        places.put("login", "SELECT name, mail FROM members WHERE name = '@@' AND pass = '{pass}'");
        places.put("login-first", "SELECT name, mail FROM members WHERE pass = '{pass}' AND name = '@@'");
        places.put("insert", "INSERT INTO visits (who, words) VALUES ('@@', 'was here') RETURNING who, words");
        places.put("insert-last",
            "INSERT INTO visits (words, who, n) VALUES ('was here', 'guest', @@) RETURNING who, n");
        places.put("update-set", "UPDATE pages SET words = '@@' WHERE id = 1 RETURNING id, words");
        places.put("update-where", "UPDATE pages SET n = n + 1 WHERE words = '@@' AND id < 9");
        places.put("delete", "DELETE FROM visits WHERE who = '@@' AND n = -1");
        Class.forName("org.postgresql.Driver");
        for (int i = 0; i < CONNECTIONS; i++)
            pool.add(DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + System.getenv("LAB_POSTGRES_PORT")
                + "/postgres?user=lab&currentSchema=arena"));
        for (String s : new String[] {"CREATE SCHEMA arena",
            "CREATE TABLE goods (id INT, name TEXT, price INT, tag TEXT, made DATE)",
            "INSERT INTO goods VALUES (1,'chair',30,'wood','2024-03-01'),(2,'table',80,'wood','2024-03-01'),"
            + "(3,'lamp',120,'steel','2024-05-09'),(4,'desk',200,'wood','2024-07-21'),"
            + "(5,'sofa',500,'cloth','2025-01-15')",
            "CREATE TABLE members (name TEXT, pass TEXT, mail TEXT)",
            "INSERT INTO members VALUES ('anna','anna-Pass1','anna@lab.example'),"
            + "('root','root-Pass9','root@lab.example')",
            "CREATE TABLE visits (who TEXT, words TEXT, n INT)", "CREATE TABLE pages (id INT, words TEXT, n INT)",
            "INSERT INTO visits VALUES ('guest','was here',1)",
            "INSERT INTO pages VALUES (1,'hello',0),(2,'home',3),(3,'about',5)"}) rows(s);
    }

    /** Rows of a statement; without values, it is sent as it is. */
    private List<List<String>> rows(String text, Object... values) throws Exception {
        Connection db = pool.take();
        try (PreparedStatement p = values.length == 0 ? null : db.prepareStatement(text);
             Statement s = values.length == 0 ? db.createStatement() : null) {
            for (int i = 0; i < values.length; i++) p.setObject(i + 1, values[i]);
            (p == null ? s : p).setQueryTimeout(20);
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

    @Override public void serve(Ask a, String in, String[] args) throws Exception {
        switch (args[0]) {
            case "article" -> a.html(200, "Questions", "<p>About " + Ask.enc(in)
                + "</p><pre>ERROR: unterminated quoted string at or near &quot;&#39;&quot;\n"
                + "org.postgresql.util.PSQLException</pre><p>What does it mean?</p>");
            case "sum" -> a.html(200, "Sum", "<p>The sum is " + sum(in) + ".</p>");
            case "count" -> a.html(200, "Words", "<p>" + in.split("\\s+").length + " words, "
                + in.chars().filter(c -> c == '\'').count() + " quotes.</p>");
            case "turns" -> view(a, "list", rows(GOODS + "WHERE id < 5 AND id % 3 = ?", turn.incrementAndGet() % 3));
            case "late" -> {
                TimeUnit.MILLISECONDS.sleep(turn.incrementAndGet() % 4 == 0 ? 900 : 0);
                view(a, "list", rows(GOODS + "WHERE tag = ? ORDER BY id", in.replace("\0", "")));
            }
            case "slow" -> {
                TimeUnit.MILLISECONDS.sleep(1200);
                view(a, "list", rows(GOODS + "WHERE tag = ? ORDER BY id", in.replace("\0", "")));
            }
            case "random" -> a.html(200, "Advice", "<p>" + (ThreadLocalRandom.current().nextBoolean()
                ? "Buy a chair today." : "Buy nothing, and go for a walk by the sea.")
                + "</p><p>" + ThreadLocalRandom.current().nextInt(9999) + "</p>");
            default -> {
                try {
                    view(a, args[2], args[0].startsWith("bound-") ? bound(a, places.get(args[0].substring(6)), in)
                        : rows(places.get(args[0]).replace("{pass}", a.p("pass").replace("'", "''"))
                            .replace("@@", in)));
                } catch (SQLException e) {
                    a.fault(args[1], "Goods", args[2].equals("same") ? "<p>Thank you.</p>" : args[2].equals("exists")
                        ? "<p>Not in stock.</p>"
                        : "<p>There are no such goods.</p>", e);
                }
            }
        }
    }

    /** Rows of a statement whose values are bound. */
    private List<List<String>> bound(Ask a, String text, String in) throws Exception {
        text = text.replace("'%@@%'", "'%' || ? || '%'").replace("'@@'", "?").replace("made = ?", "made::text = ?");
        List<Object> values = new ArrayList<>(List.of(in.replace("\0", "")));
        if (text.contains("'{pass}'")) {
            text = text.replace("'{pass}'", "?");
            values.add(text.startsWith("SELECT name, mail FROM members WHERE pass") ? 0 : 1,
                a.p("pass").replace("\0", ""));
        }
        return rows(text, values.toArray());
    }

    private static void view(Ask a, String view, List<List<String>> rows) throws Exception {
        StringBuilder b = new StringBuilder();
        switch (view) {
            case "list" -> {
                for (List<String> r : rows) b.append("<li>" + Ask.enc(r.get(0)) + ": " + Ask.enc(r.get(1)) + "</li>");
                a.html(200, "Goods", b.isEmpty() ? "<p>There are no such goods.</p>" : "<ol>" + b + "</ol>");
            }
            case "first" -> a.html(200, "Goods", rows.isEmpty() ? "<p>There are no such goods.</p>" : "<p>First: "
                + Ask.enc(rows.get(0).get(0)) + "</p>");
            case "welcome" -> a.html(rows.isEmpty() ? 401 : 200, "Sign in", rows.isEmpty()
                ? "<p>Name and password do not match.</p>"
                : "<p>Welcome, " + Ask.enc(rows.get(0).get(0)) + ".</p>");
            case "exists" -> a.html(200, "Goods", rows.isEmpty() ? "<p>Not in stock.</p>" : "<p>In stock.</p>");
            case "found" -> a.html(rows.isEmpty() ? 404 : 200, "Goods", rows.isEmpty() ? "<p>No such page.</p>"
                : "<p>In stock.</p>");
            default -> a.html(200, "Goods", "<p>Thank you.</p>");
        }
    }

    /** The sum of what stands between signs, where it is a number. */
    private static int sum(String in) {
        int sum = 0;
        for (String part : in.split("\\+")) if (part.trim().matches("\\d{1,6}")) sum += Integer.parseInt(part.trim());
        return sum;
    }
}
