<?php
// What the PHP applications of several pages share: their database, their sessions, their pages, and the variant that
// says which faults one has. Weak on purpose; loopback only.
ini_set('display_errors', '0');
mysqli_report(MYSQLI_REPORT_OFF);
set_exception_handler(function ($e) { http_response_code(500); echo '<p>Something went wrong.</p>'; });

// variant reports whether this application is one of some variants.
function variant(...$names) { return in_array(getenv('LAB_VARIANT'), $names, true); }

function db() {
    static $db = null;
    if (!$db) {
        $db = new mysqli('127.0.0.1', 'lab', 'lab', getenv('LAB_DATABASE'), (int)getenv('LAB_MARIADB_PORT'));
        $db->set_charset('utf8mb4');
    }
    return $db;
}
// rows are those of a prepared statement.
function rows($sql, ...$values) {
    $r = db()->execute_query($sql, $values);
    return $r instanceof mysqli_result ? $r->fetch_all(MYSQLI_ASSOC) : [];
}
function row($sql, ...$values) { return rows($sql, ...$values)[0] ?? null; }

function text($from, $name, $default = '') { return isset($from[$name]) && is_string($from[$name]) ? $from[$name] : $default; }
function posted() { return $_SERVER['REQUEST_METHOD'] === 'POST'; }
function h($s) { return htmlspecialchars((string)$s, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8'); }

// begin starts a session; an application may weaken it.
function begin($options = []) {
    if (session_status() === PHP_SESSION_NONE)
        session_start($options + ['cookie_httponly' => true, 'cookie_samesite' => 'Lax', 'use_strict_mode' => true]);
}
function user() {
    begin();
    return isset($_SESSION['user']) ? row('SELECT * FROM users WHERE name = ?', $_SESSION['user']) : null;
}
function go($to, $status = 302) { header("Location: $to", true, $status); exit; }
function need($login = '/login.php') { return user() ?: go($login); }

// token is the anti-forgery token of the session; checked refuses a form without it.
function token() {
    begin();
    return $_SESSION['token'] ??= bin2hex(random_bytes(16));
}
function hidden() { return '<input type="hidden" name="token" value="' . token() . '">'; }
function checked() {
    if (hash_equals(token(), text($_POST, 'token'))) return;
    http_response_code(403);
    show('Expired', '<p>This form has expired. Please go back and try again.</p>');
}

function top($title) {
    header('Content-Type: text/html; charset=utf-8');
    echo "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", h($title), "</title></head>\n<body>",
        '<nav><a href="/index.php">Start</a></nav><h1>', h($title), "</h1>\n";
}
function bottom() { echo "\n</body></html>\n"; }
function show($title, $html) { top($title); echo $html; bottom(); exit; }
function links($list) {
    $out = '';
    foreach ($list as $to => $name) $out .= '<li><a href="' . h($to) . '">' . h($name) . '</a></li>';
    return "<ul>$out</ul>";
}
function hello() {
    $u = user();
    return $u ? '<p>Logged in as ' . h($u['name']) . '. <a href="/logout.php">Log out</a></p>' : '<p><a href="/login.php">Log in</a></p>';
}
// field is a labelled input.
function field($name, $value = '', $type = 'text') {
    return '<label>' . h($name) . " <input type=\"$type\" name=\"" . h($name) . '" value="' . h($value) . '"></label> ';
}
function form($action, $fields, $button = 'Save', $method = 'post') {
    return '<form method="' . $method . '" action="' . h($action) . '">' . $fields . '<button type="submit">' . h($button) . '</button></form>';
}

// person is the user with a name and a password, or null.
function person($name, $password) {
    $u = row('SELECT * FROM users WHERE name = ?', $name);
    return $u && hash_equals($u['pass'], hash('sha256', $password)) ? $u : null;
}
// login is a page to log in: a form with an anti-forgery token.
function login($home, $at = '/login.php', $name = 'username') {
    begin();
    $wrong = '';
    if (posted()) {
        checked();
        if ($u = person(text($_POST, $name), text($_POST, 'password'))) {
            session_regenerate_id(true);
            $_SESSION['user'] = $u['name'];
            go($home, 303);
        }
        http_response_code(401);
        $wrong = '<p>Wrong name or password.</p>';
    }
    show('Log in', $wrong . form($at, hidden() . field($name) . field('password', '', 'password'), 'Log in'));
}
