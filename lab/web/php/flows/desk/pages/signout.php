<?php
defined('DESK') || exit;
session_destroy();
go('/index.php?page=signin');
