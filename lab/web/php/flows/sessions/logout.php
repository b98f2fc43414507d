<?php
require 'own.php';
$u = whose(text($_COOKIE, 'sess'));
if ($u && variant('random')) rows('DELETE FROM live WHERE random = ?', text($_COOKIE, 'sess'));
setcookie('sess', '', ['expires' => 1, 'path' => '/']);
go('/index.php');
