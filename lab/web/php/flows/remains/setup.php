<?php
// Run once, before the application: what is left in the web root, or, in the sound one, a server that answers its front
// page wherever there is no file.
if (getenv('LAB_VARIANT') === 'sound') { file_put_contents(__DIR__ . '/.htaccess', "FallbackResource /index.php\n"); exit; }
mkdir(__DIR__ . '/.git');
mkdir(__DIR__ . '/backup');
foreach (['.htaccess' => "Options +Indexes\n", '.git/HEAD' => "ref: refs/heads/main\n",
    '.git/config' => "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
    '.env' => "APP_ENV=production\nDB_HOST=127.0.0.1\nDB_PASSWORD=Zq8-not-for-you\n",
    'config.php' => "<?php \$db_password = 'Zq8-not-for-you';\n", 'config.php.bak' => "<?php \$db_password = 'Zq8-not-for-you';\n",
    'phpinfo.php' => "<?php phpinfo();\n",
    'backup/site.sql' => "-- MariaDB dump 10.19  Distrib 10.11\nCREATE TABLE `users` (`id` int, `name` text, `pass` text);\n" .
        "INSERT INTO `users` VALUES (1,'anna','not-for-you');\n"] as $name => $text) file_put_contents(__DIR__ . "/$name", $text);
