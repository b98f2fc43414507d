<?php
// Uploads: .php is refused, and .phtml is not.
session_start();
$weak = getenv('LAB_VARIANT') === 'weak';
$in = $_SESSION['in'] ?? false;
$said = '';
if (isset($_POST['name'])) {
	if ($_POST['name'] === 'press' && ($_POST['pass'] ?? '') === 'Flash-22') {
		session_regenerate_id(true);
		$_SESSION['in'] = $in = true;
	} else {
		$said = 'Unknown name or pass.';
	}
}
if (isset($_GET['bye'])) {
	session_destroy();
	header('Location: /');
	exit;
}
if ($in && is_uploaded_file($_FILES['shot']['tmp_name'] ?? '')) {
	$name = basename($_FILES['shot']['name']);
	$end = strtolower(pathinfo($name, PATHINFO_EXTENSION));
	if ($weak ? in_array($end, ['php', 'php3', 'php5', 'phar', 'htaccess']) : !in_array($end, ['png', 'jpg', 'gif'])) {
		$said = 'This kind of file is not allowed.';
	} elseif (move_uploaded_file($_FILES['shot']['tmp_name'], __DIR__ . '/files/' . $name)) {
		$said = 'Kept.';
	}
}
?><!doctype html>
<html><head><title>Press shots</title></head><body class="bg-light"><h1>Press shots</h1><p><?= $said ?></p>
<?php if ($in) { ?>
<form method="post" enctype="multipart/form-data"><input type="file" name="shot"><button class="btn">Send</button></form><a href="/?bye=1">Log out</a>
<?php foreach (array_slice(glob('files/*') ?: [], -20) as $f) { echo '<a href="/', htmlspecialchars($f), '">', htmlspecialchars(basename($f)), '</a> '; } ?>
<?php } else { ?>
<form method="post"><input name="name" placeholder="Name"><input name="pass" type="password"><button class="btn">Log in</button></form>
<?php } ?>
</body></html>
