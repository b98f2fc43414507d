<?php
// Runs a file of a challenge as a server would that takes .php and .phtml for programs; everything else is sent as it is.
$path = rawurldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/');
$base = $_SERVER['DOCUMENT_ROOT'];
$file = realpath($base . ($path === '/' ? '/index.php' : $path));
if (!$file || !str_starts_with($file, realpath($base) . '/') || is_dir($file)) {
	http_response_code(404);
	echo '<!DOCTYPE HTML><html><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>';
	return true;
}
if (preg_match('/\.(php|phtml)$/', $file)) {
	chdir(dirname($file));
	include $file;
	return true;
}
header('Content-Type: ' . (['png' => 'image/png', 'jpg' => 'image/jpeg', 'gif' => 'image/gif', 'svg' => 'image/svg+xml', 'css' => 'text/css', 'txt' => 'text/plain'][pathinfo($file, PATHINFO_EXTENSION)] ?? 'application/octet-stream'));
readfile($file);
return true;
