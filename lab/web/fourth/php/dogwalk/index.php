<?php
// Walkers of dogs: the token of a form is looked at when it is there.
session_start(['cookie_httponly' => true]);
$weak = getenv('LAB_VARIANT') === 'weak';
$keep = __DIR__ . '/files/mail.txt';
$said = '';
if (isset($_POST['walker'])) {
	if ($_POST['walker'] === 'bea' && ($_POST['pw'] ?? '') === 'Leash-and-Ball9') {
		session_regenerate_id(true);
		$_SESSION['walker'] = 'bea';
		$_SESSION['csrf'] = bin2hex(random_bytes(16));
		header('Location: /');
		exit;
	}
	$said = 'Wrong name or password.';
	http_response_code(401);
}
if (isset($_GET['out'])) {
	session_destroy();
	header('Location: /');
	exit;
}
$in = $_SESSION['walker'] ?? '';
if ($in && isset($_POST['email'])) {
	$given = $_POST['csrf'] ?? null;
	if ($given !== null && !hash_equals($_SESSION['csrf'], (string) $given) || $given === null && !$weak) {
		http_response_code(403);
		$said = 'The form is too old.';
	} elseif (filter_var($_POST['email'], FILTER_VALIDATE_EMAIL)) {
		file_put_contents($keep, $_POST['email']);
		$said = 'Saved.';
	}
}
$mail = is_file($keep) ? file_get_contents($keep) : 'bea@dogs.example';
?><!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Dogs out</title></head><body><h1>&#128054; Dogs out</h1><p><?= $said ?></p>
<?php if ($in) { ?><p>Payments go to <?= htmlspecialchars($mail) ?>. <a href="/?out=1">Log out</a></p><form method="post" action="/index.php"><input type="hidden" name="csrf" value="<?= $_SESSION['csrf'] ?>"><input type="email" name="email" value="<?= htmlspecialchars($mail) ?>"><button>Change</button></form>
<?php } else { ?><form method="post" action="/"><input name="walker" placeholder="walker"><input name="pw" type="password" placeholder="password"><button>Go</button></form><?php } ?></body></html>
