<?php
// A digest of zeros, an e and digits is a number to ==, and all of these are equal. The code itself is long and random.
require 'lab.php';
$kept = '0e462097431906509019562988736854';
$is = md5(text($_POST, 'code'));
if (variant('weak') ? $is == $kept : hash_equals($kept, $is)) show('Voucher', '<p>Valid: 50 EUR are yours.</p>');
show('Voucher', '<p>This voucher is not valid.</p>');
