<?php
$db_host = 'localhost';
$db_user = 'flores';
$db_pass = getenv('FLORES_DB') ?: '';
