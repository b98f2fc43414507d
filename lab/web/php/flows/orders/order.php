<?php
require 'lab.php';
$u = need();
$o = row('SELECT * FROM orders WHERE id = ?', (int)text($_GET, 'id'));
if (!$o) { http_response_code(404); show('Order', '<p>There is none.</p>'); }
if (!variant('weak') && $o['owner'] !== $u['name']) show('Order', '<p>This order is not yours.</p>');
show('Order', "<dl><dt>Name</dt><dd>$o[owner]</dd><dt>Goods</dt><dd>$o[goods]</dd><dt>Ship to</dt><dd>$o[address]</dd></dl>");
