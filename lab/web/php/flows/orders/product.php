<?php
require 'lab.php';
$p = row('SELECT * FROM items WHERE id = ?', (int)text($_GET, 'id'));
if (!$p) { http_response_code(404); show('Product', '<p>No such product.</p>'); }
show('Product', "<p>A $p[name], made of oak.</p>");
