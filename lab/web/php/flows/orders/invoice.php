<?php
require 'lab.php';
$u = need();
$id = (int)text($_GET, 'number') - 9000;
$o = variant('weak') ? row('SELECT * FROM orders WHERE id = ?', $id) : row('SELECT * FROM orders WHERE id = ? AND owner = ?', $id, $u['name']);
if (!$o) { http_response_code(404); show('Invoice', '<p>There is none.</p>'); }
show('Invoice', "<table><tr><td>$o[owner]</td><td>$o[address]</td></tr><tr><td>$o[goods]</td><td>1</td></tr></table>");
