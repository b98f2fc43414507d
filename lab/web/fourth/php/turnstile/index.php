<?php
// The control of a gate: first who, then the word, which is that of the maker.
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
$weak = getenv('LAB_VARIANT') === 'weak';
$count = __DIR__ . '/files/.tries';
$tries = (int) @file_get_contents($count);
$said = '';
if (isset($_GET['reset'])) {
	unset($_SESSION['asked']);
}
if (isset($_POST['login'])) {
	$_SESSION['asked'] = substr((string) $_POST['login'], 0, 40);
} elseif (isset($_POST['passwd'], $_SESSION['asked'])) {
	if ($weak && $_SESSION['asked'] === 'admin' && $_POST['passwd'] === 'admin123') {
		session_regenerate_id(true);
		$_SESSION['in'] = true;
		header('Location: /index.php');
		exit;
	}
	unset($_SESSION['asked']);
	file_put_contents($count, (string) ($tries + 1));
	$said = !$weak && $tries > 25 ? 'Locked for today.' : 'Login incorrect.';
	http_response_code(!$weak && $tries > 25 ? 429 : 401);
}
?><!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN"><html><head><title>GateMaster 200</title></head><body><h3>GateMaster 200</h3><p><?= $said ?></p>
<?php if ($_SESSION['in'] ?? false) { ?><p>Gate 1: open<br>Gate 2: closed<br>Cards: 1187</p><?php } elseif (isset($_SESSION['asked'])) { ?><form method="post" action="/index.php"><p><?= htmlspecialchars($_SESSION['asked']) ?>, password: <input type="password" name="passwd"> <input type="submit" value="OK"></p></form><a href="/index.php?reset=1">Other user</a><?php } else { ?><form method="post" action="/index.php"><p>Login: <input name="login"> <input type="submit" value="Next"></p></form><?php } ?></body></html>
