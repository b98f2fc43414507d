<?php
require 'lab.php';
$sum = text($_GET, 'sum');
if (!variant('weak') && !preg_match('#^\d{1,9}(\s*[-+*]\s*\d{1,9}){0,5}$#D', $sum)) show('Sum', '<p>Numbers and + - * only.</p>');
$is = null;
try { $is = eval("return $sum;"); } catch (Throwable $e) { show('Sum', '<p>This cannot be reckoned.</p>'); }
show('Sum', '<p>Sum: ' . h(is_scalar($is) ? $is : '') . '</p>');
