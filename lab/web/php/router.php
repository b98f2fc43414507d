<?php
// The PHP application of the lab: each case of cases.tsv is a filter and a sink. Weak on purpose; loopback only.
error_reporting(0);
mysqli_report(MYSQLI_REPORT_OFF);
$at = rawurldecode(explode('?', $_SERVER['REQUEST_URI'])[0]);
$file = $_SERVER['DOCUMENT_ROOT'] . explode('?', $_SERVER['REQUEST_URI'])[0];
if (is_file($file) || is_dir($file) && substr($at, -1) === '/') return false;

$case = null;
foreach (file(getenv('LAB_CASES')) as $line) {
    $f = explode("\t", rtrim($line, "\n"));
    if ($f[0] !== 'php') continue;
    if ($at === $f[1] || in_array($f[5], ['path', 'kept', 'steps']) && strpos($at, $f[1] . '/') === 0) { $case = $f; break; }
}
if (!$case) { http_response_code(404); exit('Not found'); }
[, $path, $class, $sink, $filter, $source, $param, $usual] = $case;
$files = getenv('LAB_FILES');
$usual = str_replace(['{self}', '{files}'], [getenv('LAB_SELF'), $files], $usual);

function input() {
    global $source, $param, $usual, $at, $path, $filter;
    switch ($source) {
        case 'query': return $_GET[$param] ?? '';
        case 'form': return $_POST[$param] ?? '';
        case 'path': return substr($at, strlen($path) + 1);
        case 'header': return $_SERVER['HTTP_' . strtoupper(str_replace('-', '_', $param))] ?? '';
        case 'kept': case 'steps': return $_SESSION[$path] ?? '';
        case 'xml': return file_get_contents('php://input');
        case 'json': return json_decode(file_get_contents('php://input'), true)[$param] ?? '';
        case 'cookie':
            if (isset($_COOKIE[$param])) return $_COOKIE[$param];
            $v = $filter === 'base64' ? base64_encode($usual) : $usual;
            setcookie($param, $v, ['path' => $path, 'httponly' => true, 'samesite' => 'Lax']);
            return $v;
    }
}
function enc($s) { return str_replace(['&', '<', '>', '"', "'"], ['&amp;', '&lt;', '&gt;', '&quot;', '&#39;'], $s); }
function show($html) { echo "<!DOCTYPE html><html><head><title>Lab</title></head><body><h1>Lab</h1>$html</body></html>"; exit; }
function fail() { http_response_code(500); show('<p>Something went wrong.</p>'); }
function once($s, $words) { foreach ($words as $w) { $i = stripos($s, $w); if ($i !== false) $s = substr($s, 0, $i) . substr($s, $i + strlen($w)); } return $s; }

if ($source === 'kept' || $source === 'steps') {
    session_name('visit');
    session_start();
    if ($at === $path) {
        if ($_SERVER['REQUEST_METHOD'] === 'POST') $_SESSION[$path] = $_POST[$param] ?? '';
        if ($source === 'steps') show("<form method=\"post\" action=\"$path/next\"><input name=\"sure\" value=\"yes\"><button>Go</button></form>");
        show("<p>Thank you. <a href=\"$path/view\">view</a></p>");
    }
    session_write_close();
}
$v = input();
if (!is_string($v)) $v = '';
if ($filter === 'reject' && preg_match('/[^\w .,+\/?=:-]/', $v)) { http_response_code(403); show('<p>Forbidden characters.</p>'); }
if ($filter === 'base64') $v = (string)base64_decode($v);
if ($filter === 'nospace') $v = preg_replace('/\s/', '', $v);
if ($filter === 'script') { $i = stripos($v, '<script>'); if ($i !== false) $v = substr($v, 0, $i) . substr($v, $i + 8); }
if ($filter === 'list' && !in_array($v, [$usual, 'table', 'beta', 'b.txt', 'price', '/help'], true)) { show('<p>Unknown value.</p>'); }
$safe = in_array($filter, ['bind', 'reject', 'list', 'number', 'decoy']);

if ($class === 'sql') {
    if ($filter === 'once') $v = once($v, ['union', 'select']);
    if ($filter === 'decoy' && $sink === 'blind') usleep(random_int(700000, 1500000));
    elseif ($filter === 'decoy') echo '<p>Help: "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version" means that a quote is missing.</p>';
    $db = new mysqli('127.0.0.1', 'lab', 'lab', 'lab', (int)getenv('LAB_MARIADB_PORT'));
    if ($filter === 'number') $v = (string)intval($v);
    $q = $safe ? $db->real_escape_string($v) : $v;
    $loud = in_array($sink, ['where', 'number', 'double']);
    $columns = ['name', 'price', 'id'];
    $sql = [
        'where' => "SELECT name, price FROM items WHERE name='$q'", 'quiet' => "SELECT name, price FROM items WHERE name='$q'",
        'double' => "SELECT name, price FROM items WHERE name=\"$q\"",
        'number' => 'SELECT name, price FROM items WHERE id=' . ($safe ? intval($v) : $v), 'quietnumber' => 'SELECT name, price FROM items WHERE id=' . ($safe ? intval($v) : $v),
        'like' => "SELECT name, price FROM items WHERE name LIKE '%$q%'", 'bracket' => "SELECT name, price FROM items WHERE ((name='$q') AND price>0)",
        'members' => 'SELECT name, price FROM items WHERE id IN (' . ($safe ? implode(',', array_map('intval', explode(',', $v))) : $v) . ')',
        'order' => 'SELECT name, price FROM items ORDER BY ' . ($safe ? (in_array($v, $columns) ? $v : 'id') : $v),
        'column' => 'SELECT ' . ($safe ? (in_array($v, $columns) ? $v : 'id') : $v) . ' AS name, price FROM items',
        'insert' => "INSERT INTO log (who, what) VALUES ('$q', 'view')", 'update' => "UPDATE counters SET n=n+1 WHERE page='$q'",
        'login' => "SELECT name, mail AS price FROM users WHERE name='$q' AND pass='" . $db->real_escape_string($source === 'json' ? (json_decode(file_get_contents('php://input'), true)['pass'] ?? '') : ($_POST['pass'] ?? '')) . "'",
        'blind' => "SELECT name FROM items WHERE name='$q'"][$sink];
    $rows = $db->query($sql);
    if ($sink === 'blind') show('<p>Noted.</p>');
    if ($rows === false) { if ($loud) show('<p>Error: ' . enc($db->error) . '</p>'); if (in_array($sink, ['insert', 'update'])) fail(); show('<p>Nothing found.</p>'); }
    if ($rows === true) show('<p>Noted.</p>');
    $list = '';
    while ($row = $rows->fetch_assoc()) $list .= '<li>' . enc($row['name']) . ' ' . enc($row['price']) . '</li>';
    if ($sink === 'login') show($list ? '<p>Welcome back.</p>' : '<p>Wrong name or password.</p>');
    show($list ? "<ul>$list</ul>" : '<p>Nothing found.</p>');
}
if ($class === 'xss') {
    if ($filter === 'angle') $v = str_replace(['<', '>'], ['&lt;', '&gt;'], $v);
    if ($filter === 'quote') $v = str_replace(['"', "'"], ['&quot;', '&#39;'], $v);
    if ($filter === 'all') $v = enc($v);
    if ($filter === 'local' && !preg_match('#^/[^/\\\\]#', $v)) $v = '/';
    if ($filter === 'local') $v = enc($v);
    if ($filter === 'json') { header('Content-Type: application/json'); exit(json_encode(['hello' => $v], JSON_UNESCAPED_SLASHES)); }
    if ($filter === 'text') { header('Content-Type: text/plain'); header('X-Content-Type-Options: nosniff'); exit("Hello $v"); }
    if ($sink === 'stored') {
        $store = sys_get_temp_dir() . '/lab-notes-' . md5($path . getenv('LAB_SELF'));
        if ($_SERVER['REQUEST_METHOD'] === 'POST') { file_put_contents($store, $v . "\n", FILE_APPEND); header("Location: $path", true, 303); exit; }
        show('<ul>' . implode('', array_map(fn($n) => '<li>' . $n . '</li>', file($store) ?: [])) . '</ul>');
    }
    show(['text' => "<p>Hello $v</p>", 'quoted' => "<p title=\"$v\">Hello</p>", 'single' => "<p title='$v'>Hello</p>", 'bare' => "<input value=$v>",
        'href' => "<a href=\"" . ($filter === 'plain' ? enc($v) : $v) . "\">site</a>", 'string' => "<script>var a = '$v';</script>", 'dstring' => "<script>var a = \"$v\";</script>",
        'literal' => "<script>var a = `" . str_replace(['`', '</'], ['', ''], $v) . "`;</script>", 'block' => '<script>var a = {"name": ' . json_encode($v, JSON_UNESCAPED_SLASHES) . '};</script>',
        'comment' => "<!-- $v -->", 'textarea' => "<textarea>$v</textarea>", 'title' => "<title>$v</title>", 'style' => "<style>/* $v */</style>",
        'handler' => "<button onclick=\"hello('" . ($filter === 'plain' ? str_replace(['"', '<'], ['&quot;', '&lt;'], $v) : $v) . "')\">Hello</button>", 'value' => "<input type=\"text\" value=\"$v\">"][$sink]);
}
if ($class === 'command') {
    if ($filter === 'once') $v = once($v, [';', '&']);
    if ($filter === 'decoy') echo '<p>Help: "sh: 1: Syntax error: Unterminated quoted string" means that a quote is missing. uid=0(root) is the administrator.</p>';
    if ($safe) $cmd = 'echo host ' . escapeshellarg($v);
    else $cmd = ['output' => "echo host $v", 'single' => "echo 'host $v'", 'dquoted' => "echo \"host $v\"", 'silent' => "echo host $v"][$sink];
    chdir($files);
    $out = shell_exec($cmd . ' 2>/dev/null');
    show($sink === 'silent' ? '<p>Done.</p>' : '<pre>' . enc($out) . '</pre>');
}
if ($class === 'path') {
    if ($filter === 'dots') $v = str_replace('../', '', $v);
    if ($filter === 'base' || $filter === 'decoy') $v = basename($v);
    if ($filter === 'decoy') echo '<p>Help: "failed to open stream: No such file or directory" means that there is no such file. root:x:0: is the first line of a list of users.</p>';
    if ($sink === 'include') { ob_start(); $ok = include $files . '/' . $v; $text = ob_get_clean(); show($ok === false ? '<p>No such page.</p>' : $text); }
    $name = $sink === 'absolute' ? $v : $files . '/' . $v;
    if ($filter === 'real' && strpos((string)realpath($name), realpath($files) . '/') !== 0) show('<p>No such file.</p>');
    $text = is_file($name) ? file_get_contents($name) : false;
    show($text === false ? '<p>No such file.</p>' : '<pre>' . enc($text) . '</pre>');
}
if ($class === 'redirect') {
    if ($filter === 'local' && !preg_match('#^/(?![/\\\\])[^\x00-\x20]*$#', $v)) $v = '/home.html';
    if ($filter === 'slash' && substr($v, 0, 1) !== '/') $v = '/home.html';
    if ($filter === 'own' && strpos($v, 'lab.example') === false) $v = '/home.html';
    if ($filter === 'inquery') $v = '/home.html?next=' . rawurlencode($v);
    if ($sink === 'meta') show('<meta http-equiv="refresh" content="0;url=' . enc($v) . '">');
    if ($sink === 'assign') show('<script>location = ' . json_encode($v, JSON_UNESCAPED_SLASHES | JSON_HEX_TAG) . ';</script>');
    header('Location: ' . str_replace(["\r", "\n"], '', $v), true, 302);
    exit;
}
if ($class === 'code') {
    if ($sink === 'expression') { try { $r = $safe ? 2 : eval("return $v;"); } catch (Throwable $e) { fail(); } show('<p>Sum: ' . enc((string)$r) . '</p>'); }
    try { $r = $safe ? $v : eval("return '$v';"); } catch (Throwable $e) { fail(); }
    show('<p>Label: ' . enc((string)$r) . '</p>');
}
if ($class === 'xxe') {
    $doc = new DOMDocument();
    if (!$doc->loadXML($v, $safe ? LIBXML_NONET : LIBXML_NONET | LIBXML_NOENT | LIBXML_DTDLOAD)) { http_response_code(400); show('<p>No feed.</p>'); }
    $title = $doc->getElementsByTagName('title')->item(0);
    show('<p>' . enc($title ? ($safe ? $title->nodeValue : $title->textContent) : '') . '</p>');
}
if ($class === 'ssrf') {
    $text = preg_match('#^https?://(127\.0\.0\.1|localhost)[:/]#', $v) ? file_get_contents($v, false, stream_context_create(['http' => ['timeout' => 3]]), 0, 10000) : false;
    show($text === false ? '<p>It cannot be reached.</p>' : '<pre>' . enc($text) . '</pre>');
}
if ($class === 'xpath') {
    $doc = new DOMDocument();
    $doc->loadXML('<users><user><name>anna</name><mail>anna@lab.example</mail></user><user><name>ben</name><mail>ben@lab.example</mail></user></users>');
    $v = $safe ? preg_replace('/[\'"]/', '', $v) : $v;
    $nodes = (new DOMXPath($doc))->query("//user[name='$v']/mail");
    if ($nodes === false) fail();
    $list = '';
    foreach ($nodes as $n) $list .= '<li>' . enc($n->nodeValue) . '</li>';
    show($list ? "<ul>$list</ul>" : '<p>Nobody.</p>');
}
fail();
