<?php
require 'lab.php';
begin();
$_SESSION = [];
session_destroy();
go('/index.php');
