<?php
require 'lab.php';
need();
checked();
$n = (int)text($_POST, 'quantity');
$i = row('SELECT * FROM items WHERE id = ?', (int)text($_POST, 'item'));
$price = variant('weak') ? (float)text($_POST, 'price') : $i['price'] ?? 0;
if (!$i || !$price || !variant('weak') && ($n < 1 || $n > 99)) { http_response_code(400); show('Cart', '<p>This quantity cannot be ordered.</p>'); }
show('Cart', "<p>$n of item $i[id]. Total: " . $n * $price . ' EUR</p>');
