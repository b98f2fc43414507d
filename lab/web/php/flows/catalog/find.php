<?php
// Statements of a catalogue. "errors" and "quiet" put texts together, "escaped" escapes what has no quotes around it;
// "sound" binds values, and "help" too, with a page that explains errors of the database.
require_once 'lab.php';
function find($sql) {
    $r = db()->query($sql);
    if ($r === false && variant('errors')) show('Catalogue', '<p><b>Error</b>: ' . h(db()->error) . '</p>');
    return $r instanceof mysqli_result ? $r->fetch_all(MYSQLI_ASSOC) : [];
}
function quoted($v) { return variant('escaped') ? db()->real_escape_string($v) : $v; }
function safe() { return variant('sound', 'help'); }
function listing($title, $found) {
    $list = '';
    foreach ($found as $i) $list .= '<li>' . h($i['name']) . ', ' . h($i['price']) . ' EUR</li>';
    $help = variant('help') ? '<p>Do you see "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB ' .
        'server version"? Write to us.</p>' : '';
    show($title, ($list ? "<ul>$list</ul>" : '<p>Nothing found.</p>') . $help);
}
