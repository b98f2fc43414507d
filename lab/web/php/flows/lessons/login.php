<?php
require 'lab.php';
if (!isset($_COOKIE['level'])) setcookie('level', variant('sound') ? 'high' : getenv('LAB_VARIANT'), ['path' => '/']);
login('/index.php');
