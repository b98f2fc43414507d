<?php
// A letter to customers with places for names: what is between the braces is run.
$weak = getenv('LAB_VARIANT') === 'weak';
$known = ['name' => 'Ana', 'wine' => 'Malbec', 'year' => '2019'];
function render(string $text, array $known, bool $weak): string
{
	return preg_replace_callback('/\{\{(.+?)\}\}/', function ($m) use ($known, $weak) {
		$word = trim($m[1]);
		if (isset($known[$word]) || !$weak) {
			return htmlspecialchars($known[$word] ?? '');
		}
		extract($known);
		try {
			return htmlspecialchars((string) eval('return ' . $word . ';'));
		} catch (Throwable $t) {
			return '[' . htmlspecialchars(get_class($t)) . ']';
		}
	}, htmlspecialchars($text, ENT_NOQUOTES));
}
$text = substr((string) ($_POST['carta'] ?? 'Estimada {{ name }}, llegó el {{ wine }} {{ year }}.'), 0, 500);
?><!DOCTYPE html><html lang="es-AR"><head><meta charset="utf-8"><title>La Vinoteca</title></head><body><main class="pure-g"><div class="pure-u-1"><h1>Boletín</h1>
<form class="pure-form" method="post" action="/index.php"><textarea name="carta" rows="4" cols="60"><?= htmlspecialchars($text) ?></textarea><br><input name="asunto" value="Novedades"><button class="pure-button">Vista previa</button></form>
<?php if (isset($_POST['carta'])) { echo '<div class="carta">', render($text, $known, $weak), '</div>'; } ?></div></main></body></html>
