<?php
require 'inc/forged.php';
begin();
$_SESSION = [];
session_destroy();
go('/index.php');
