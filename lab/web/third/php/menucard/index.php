<?php
// Menus of restaurants: "php" is taken out of the name of a file, once.
session_start(['cookie_httponly' => true, 'cookie_samesite' => 'Lax']);
$weak = getenv('LAB_VARIANT') === 'weak';
$users = ['trattoria' => 'Basilico.77', 'osteria' => 'Rosmarino.12'];
$said = '';
if (isset($_POST['locale']) && ($users[(string) $_POST['locale']] ?? '') !== '' && $users[(string) $_POST['locale']] === ($_POST['parola'] ?? '')) {
	session_regenerate_id(true);
	$_SESSION['locale'] = (string) $_POST['locale'];
} elseif (isset($_POST['locale'])) {
	$said = 'Locale o parola non validi.';
}
if (isset($_GET['esci'])) {
	session_destroy();
	header('Location: /');
	exit;
}
$in = $_SESSION['locale'] ?? '';
if ($in && is_uploaded_file($_FILES['menu']['tmp_name'] ?? '')) {
	$name = preg_replace('/[^\w.-]/', '', basename($_FILES['menu']['name']));
	$name = str_ireplace('php', '', $name);
	if (!$weak && !preg_match('/^[\w-]+\.(pdf|png|jpg|txt)$/i', $name)) {
		$said = 'Formato non ammesso.';
	} elseif ($name !== '' && $name[0] !== '.') {
		move_uploaded_file($_FILES['menu']['tmp_name'], __DIR__ . '/files/' . $name);
		$said = 'Caricato: <a href="/files/' . $name . '">' . $name . '</a>';
	}
}
?><!DOCTYPE html><html lang="it"><head><meta charset="utf-8"><title>Carta e Forchetta</title></head><body><h1>Carta &amp; Forchetta</h1><p><em><?= $said ?></em></p>
<?php if ($in) { ?><p>Ciao <?= htmlspecialchars($in) ?>, <a href="/?esci=1">esci</a></p><form enctype="multipart/form-data" method="post" action="/"><input type="file" name="menu"><select name="pasto"><option>pranzo</option><option>cena</option></select><button>Carica</button></form>
<?php } else { ?><form method="post" action="/"><input name="locale" placeholder="locale"><input name="parola" type="password" placeholder="parola"><button>Entra</button></form><?php } ?></body></html>
