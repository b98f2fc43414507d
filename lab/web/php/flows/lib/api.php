<?php
// What the pages of an interface share: JSON in and out, and who a token is for.
require_once 'lab.php';
function answer($value, $status = 200) {
    http_response_code($status);
    header('Content-Type: application/json');
    exit(json_encode($value));
}
function body() {
    $in = json_decode(file_get_contents('php://input'), true);
    return is_array($in) ? $in : [];
}
function bearer() {
    $t = str_replace('Bearer ', '', getallheaders()['Authorization'] ?? '');
    $found = row('SELECT u.* FROM tokens t JOIN users u ON u.name = t.name WHERE t.token = ?', $t);
    return $found ?: answer(['error' => 'log in'], 401);
}
function shown($u) { return array_intersect_key($u, array_flip(['id', 'name', 'mail', 'phone', 'role'])); }
