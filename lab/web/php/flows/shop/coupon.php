<?php
require 'lab.php';
$u = need();
checked();
$used = (int)row('SELECT COALESCE(SUM(percent), 0) AS n FROM used WHERE name = ?', $u['name'])['n'];
if (text($_POST, 'code') !== 'WELCOME10' || !variant('weak') && $used) { http_response_code(400); show('Coupon', '<p>This code is not valid.</p>'); }
rows('INSERT INTO used VALUES (?, 10)', $u['name']);
show('Coupon', '<p>Discount: ' . ($used + 10) . ' EUR</p>');
