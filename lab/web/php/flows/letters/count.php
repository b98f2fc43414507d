<?php
require 'lab.php';
if (variant('slow')) usleep(random_int(200000, 900000));
$ref = text($_GET, 'ref');
if (variant('weak')) db()->query("UPDATE counters SET n = n + 1 WHERE page = '$ref'");
else rows('UPDATE counters SET n = n + 1 WHERE page = ?', $ref);
go('/index.php');
