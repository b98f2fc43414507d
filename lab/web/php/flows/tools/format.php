<?php
require 'lab.php';
$how = text($_POST, 'how', 'strtoupper');
if (!variant('weak') && !in_array($how, ['strtoupper', 'strrev', 'md5'], true)) $how = 'strtoupper';
ob_start();
$is = null;
try { $is = is_callable($how) ? call_user_func($how, text($_POST, 'text')) : ''; } catch (Throwable $e) { $is = ''; }
$said = ob_get_clean();
show('Format', '<pre>' . h($said . (is_scalar($is) ? $is : '')) . '</pre>');
