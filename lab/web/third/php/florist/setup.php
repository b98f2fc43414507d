<?php
// What was left behind of the old site; in the mended one, nothing with a secret.
if (getenv('LAB_VARIANT') === 'weak') {
	file_put_contents(__DIR__ . '/config.php~', "<?php\n\$db_host = 'localhost';\n\$db_user = 'flores';\n\$db_pass = 'Clavel-Rojo-1988';\n");
	file_put_contents(__DIR__ . '/backup.sql', "-- MySQL dump 10.13\nCREATE TABLE `clientes` (`id` int, `correo` varchar(80), `clave` varchar(80));\nINSERT INTO `clientes` VALUES (1,'rosa@flores.example','\$2y\$10\$u1Zq8dWm0c2yP5gkzYx1eO7hLJw3m6ZkqT9sVbN4rXcA2dEfGhIjK');\n");
} else {
	file_put_contents(__DIR__ . '/config.php~', "Moved.\n");
	file_put_contents(__DIR__ . '/backup.sql', "Moved.\n");
}
