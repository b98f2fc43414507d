<?php
// Run once, before the application: how the folder of pictures is served.
mkdir(__DIR__ . '/pictures');
$how = ['asis' => "php_flag engine off\nSetHandler default-handler\nForceType text/plain\nHeader set X-Content-Type-Options nosniff\n",
    'double' => "AddHandler application/x-httpd-php .php\n"][getenv('LAB_VARIANT')] ?? '';
if ($how) file_put_contents(__DIR__ . '/pictures/.htaccess', $how);
